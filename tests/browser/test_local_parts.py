"""The page of a server without a provider names its recognition, synthesis and dialogue."""

import pytest

from backend.testing.services.server import serving
from tests.support.browser import chromium
from tests.support.chat_api import ended, stream, words
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize(("model", "named"), [("", "no language model"), ("llama3.2", "llama3.2")])
async def test_recognition_synthesis_and_dialogue_are_named(model: str, named: str) -> None:
    async with serving(lambda _: stream(words("Hello."), ended())) as api:
        settings = {"LOCAL_MODEL_URL": api.url, "LOCAL_MODEL": model} if model else {}
        async with real_server(**settings) as url, chromium() as tab:
            await tab.open(url)
            for part in ("Moonshine", "heart", named):
                await tab.sees("offline-banner", part)
