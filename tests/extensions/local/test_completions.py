"""Chat completions without a model, over the wire, through the `openai` package itself."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from backend.extensions.local.dialogue.without_model import UNKNOWN
from tests.support.offline_peer import OfflinePeer

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit", "local"]},
            },
            "required": ["location"],
        },
    },
}


@asynccontextmanager
async def client_of(peer: OfflinePeer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="any", base_url=peer.base_url, max_retries=0, timeout=10) as client:
        yield client


OFFERED: list[Any] = [WEATHER]
QUESTION: list[Any] = [{"role": "user", "content": "What's the weather in Seattle?"}]


async def test_a_whole_answer_is_valid_for_the_package(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        answer = await client.chat.completions.create(model="gpt-5.4-mini", messages=QUESTION, tools=OFFERED)
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls
    assert answer.usage and answer.usage.total_tokens > 0


async def test_a_stream_has_the_words_one_by_one_and_the_usage_last(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        stream = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "Why is the sky blue?"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    words = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(words) == UNKNOWN and "language model" in UNKNOWN
    assert len([word for word in words if word]) > 10
    assert chunks[-1].usage and not chunks[-1].choices
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_a_streamed_call_comes_in_pieces_that_join(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        stream = await client.chat.completions.create(model="m", messages=QUESTION, tools=OFFERED, stream=True)
        pieces = [call async for chunk in stream if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
    assert pieces[0].id and pieces[0].function and pieces[0].function.name == "get_current_weather"
    joined = "".join((piece.function.arguments or "") if piece.function else "" for piece in pieces)
    assert json.loads(joined) == {"location": "Seattle"}


async def test_an_unanswered_tool_call_is_refused_as_the_api_does(peer: OfflinePeer) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[Any] = [*QUESTION, {"role": "assistant", "tool_calls": [call]}, *QUESTION]
    async with client_of(peer) as client:
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="m", messages=messages)
