"""The local Responder with a chat server behind it: calls and completions of Thinkers are answered by the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI

from backend.extensions.local.synthesis.voice import speak
from backend.testing.services.server import serving
from tests.extensions.local.local_process import local_responder
from tests.support.chat_api import ended, stream, words
from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence
from tests.support.waiting import until

ANSWER = stream(words("It is cold. ", "Take a coat."), ended())
STORY = stream(words(*["Once upon a time there was a fox. "] * 8), [15.0], words("The end."), ended())


@asynccontextmanager
async def asking(model_url: str) -> AsyncIterator[AsyncOpenAI]:
    """A client of a local Responder that is to ask the model there."""
    with local_responder(LOCAL_MODEL_URL=model_url, LOCAL_MODEL="llama3.2") as url:
        async with AsyncOpenAI(api_key="any", base_url=url, max_retries=0) as client:
            yield client


async def test_completions_of_thinkers_are_passed_on_as_they_stream() -> None:
    async with serving(lambda request: ANSWER) as server, asking(server.url) as client:
        chunks = await client.chat.completions.create(
            model="gpt-5.4", messages=[{"role": "user", "content": "Cold?"}], stream=True
        )
        said = "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])
        assert said == "It is cold. Take a coat."
        assert server.requests[-1].json()["model"] == "llama3.2"


async def test_completions_say_when_the_model_is_away() -> None:
    async with asking("http://127.0.0.1:9") as client:
        with pytest.raises(APIStatusError, match="local model does not answer"):
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Cold?"}])


async def test_completion_ends_too_soon_where_the_model_breaks_off() -> None:
    broken = stream(words("It is cold. "), breaks_off=True)
    async with serving(lambda request: broken) as server, asking(server.url) as client:
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Cold?"}]}
        chunks = [each async for each in await client.chat.completions.create(**asked, stream=True)]
    assert [each.choices[0].finish_reason for each in chunks] == [None] * len(chunks) != []


@pytest.mark.slow
@pytest.mark.realtime
async def test_a_call_is_answered_by_the_model_and_an_interruption_ends_its_stream() -> None:
    async with serving(lambda request: STORY if "story" in request.body.decode() else ANSWER) as model:
        with running_server(OFFLINE_URL="", LOCAL_MODEL_URL=model.url, LOCAL_MODEL="llama3.2") as server:
            async with placed_call(server, within_s=30) as call:
                await call.say(silence(500) + await asyncio.to_thread(speak, "Please tell me a story."))
                await until(lambda: len(call.audible()) > 50, 20)
                model.hung_up.clear()
                assert model.open, "the model still streams what is being spoken"
                await call.say(await asyncio.to_thread(speak, "Stop, that is enough."))
                await asyncio.wait_for(model.hung_up.wait(), 5)
                await call.hears_nothing_for(1.0)
            assert any("a fox" in each["content"] for each in call.all_told("transcript_interrupted"))
