"""Pictures of a real call for the documents, written only when UPDATE_SCREENSHOTS=1 is set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import chromium
from tests.support.microphone import UNIVERSE, WEATHER, microphone_wav
from tests.support.real_server import real_server

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(os.environ.get("UPDATE_SCREENSHOTS") != "1", reason="set UPDATE_SCREENSHOTS=1 to write them"),
]
IMAGES = Path(__file__).parents[2] / "docs" / "images"


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("page-dark.png", {"scheme": "dark", "size": (1440, 900)}),
        ("page-light.png", {"scheme": "light", "size": (1440, 900)}),
        ("page-phone.png", {"scheme": "dark", "size": (390, 844)}),
    ],
)
async def test_a_call_in_pictures(name: str, look: dict[str, Any], tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "call.wav", 3.0, WEATHER, 4.5, UNIVERSE, 60.0)
    async with real_server() as url, chromium(speaks=wav, **look) as tab:
        await tab.open(url)
        await tab.connect()
        await tab.page.locator("[data-state=interrupted]").wait_for(timeout=30_000)
        await tab.sees("entry-user", "How old is the universe", 20_000)
        await tab.sees("floor", "Speaking")
        await tab.page.locator("[data-testid=thinker][data-domain=knowledge][data-state=complete]").wait_for()
        await tab.loudness(1.0)
        IMAGES.mkdir(parents=True, exist_ok=True)
        await tab.screenshot(IMAGES / name)
