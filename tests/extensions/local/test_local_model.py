"""The local Responder's process with a chat server behind it: calls and Thinkers' completions alike go to the model."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI

from backend.testing.services.server import serving
from tests.support.chat_api import ended, stream, words
from tests.support.offline_peer import OfflinePeer

ANSWER = stream(words("It is cold. ", "Take a coat."), ended())


@asynccontextmanager
async def responder(model_url: str) -> AsyncIterator[OfflinePeer]:
    """`python -m backend.extensions.local`, which is to ask the model there."""
    environment = os.environ | {"LOCAL_MODEL_URL": model_url, "LOCAL_MODEL": "llama3.2"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "backend.extensions.local", env=environment, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 20)
        yield OfflinePeer(json.loads(line)["listening"], process.pid)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 5)


async def test_completions_of_thinkers_are_passed_on_as_they_stream() -> None:
    async with (
        serving(lambda request: ANSWER) as server,
        responder(server.url) as peer,
        AsyncOpenAI(api_key="any", base_url=peer.base_url, max_retries=0) as client,
    ):
        chunks = await client.chat.completions.create(
            model="gpt-5.4", messages=[{"role": "user", "content": "Cold?"}], stream=True
        )
        said = "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])
        assert said == "It is cold. Take a coat."
        assert server.requests[-1].json()["model"] == "llama3.2"


async def test_completions_say_when_the_model_is_away() -> None:
    async with (
        responder("http://127.0.0.1:9") as peer,
        AsyncOpenAI(api_key="any", base_url=peer.base_url, max_retries=0) as client,
    ):
        with pytest.raises(APIStatusError, match="local model does not answer"):
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Cold?"}])


async def test_completion_ends_too_soon_where_the_model_breaks_off() -> None:
    async with (
        serving(lambda request: stream(words("It is cold. "), breaks_off=True)) as server,
        responder(server.url) as peer,
        AsyncOpenAI(api_key="any", base_url=peer.base_url, max_retries=0) as client,
    ):
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Cold?"}]}
        chunks = [each async for each in await client.chat.completions.create(**asked, stream=True)]
    assert [each.choices[0].finish_reason for each in chunks] == [None] * len(chunks) != []
