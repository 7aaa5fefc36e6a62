"""The contract of `ChatModel`, tried on the client against a local server and on the scripted fake."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from backend.errors import ModelUnavailable
from backend.models.base import ChatMessage, ChatModel, Delta, Finished, TextDelta, ToolCall
from backend.models.chat_completions import ChatCompletions, ModelLimits
from backend.testing.model import ScriptedModel
from backend.testing.services.server import Reply, serving
from tests.support import chat_api as api
from tests.support.waiting import until

ASK: list[ChatMessage] = [{"role": "user", "content": "hello"}]

SCENES: dict[str, Any] = {
    "words": ["Hel", "lo."],
    "calls": ["One moment. ", ToolCall("a", "first", '{"x": 1}'), ToolCall("b", "second", "{}")],
    "slow": ["One", 30.0, "two"],
    "refusal": [ModelUnavailable("no")],
}


async def played(scene: str) -> tuple[Reply, ...]:
    match scene:
        case "words":
            return (api.stream(api.words("Hel", "lo."), api.ended()),)
        case "calls":
            first = api.call_pieces(0, "a", "first", '{"x"', ": 1}")
            second = api.call_pieces(1, "b", "second", "{}")
            return (api.stream(api.words("One moment. "), first, second, api.ended("tool_calls")),)
        case "slow":
            return (api.stream(api.words("One"), [30.0], api.words("two"), api.ended()),)
    return (api.error(400),)


@asynccontextmanager
async def fake(scene: str) -> AsyncIterator[tuple[ChatModel, Callable[[], int]]]:
    model = ScriptedModel(SCENES[scene])
    yield model, lambda: model.open


@asynccontextmanager
async def real(scene: str) -> AsyncIterator[tuple[ChatModel, Callable[[], int]]]:
    replies = iter(await played(scene))
    async with serving(lambda request: next(replies)) as server:
        model = ChatCompletions(base_url=f"{server.url}/v1", api_key="key", limits=ModelLimits(backoff_s=0.01))
        try:
            yield model, lambda: server.open
        finally:
            await model.close()


Make = Callable[[str], AbstractAsyncContextManager[tuple[ChatModel, Callable[[], int]]]]
both = pytest.mark.parametrize("make", [fake, real])


async def collected(model: ChatModel) -> list[Delta]:
    return [delta async for delta in model.stream(ASK, model="m")]


@both
async def test_a_stream_yields_words_in_pieces_and_then_its_end(make: Make) -> None:
    async with make("words") as (model, _):
        assert await collected(model) == [TextDelta("Hel"), TextDelta("lo."), Finished("stop", 10, 5)]


@both
async def test_a_stream_yields_complete_tool_calls_in_order(make: Make) -> None:
    async with make("calls") as (model, _):
        deltas = await collected(model)
    assert [d for d in deltas if isinstance(d, ToolCall)] == SCENES["calls"][1:]
    assert isinstance(deltas[-1], Finished)
    assert deltas[-1].reason == "tool_calls"


@both
async def test_closing_the_iterator_closes_the_stream(make: Make) -> None:
    async with make("slow") as (model, open_streams), asyncio.timeout(5):
        stream = model.stream(ASK, model="m")
        await anext(stream)
        assert open_streams() == 1
        await stream.aclose()
        await until(lambda: open_streams() == 0)


@both
async def test_cancelling_the_reader_closes_the_stream(make: Make) -> None:
    async with make("slow") as (model, open_streams), asyncio.timeout(5):
        reader = asyncio.create_task(collected(model))
        await until(lambda: open_streams() == 1)
        reader.cancel()
        await asyncio.wait({reader})
        assert reader.cancelled()
        await until(lambda: open_streams() == 0)
