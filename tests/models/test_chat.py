"""The chat completions client against a server that misbehaves in every documented way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from backend.errors import ModelUnavailable
from backend.models.base import ChatMessage, Delta, Finished, TextDelta, ToolCall
from backend.models.chat_completions import ChatCompletions, ModelLimits
from backend.models.options import read_options
from backend.testing.services.server import ApiServer, Reply, serving, text_reply
from tests.support import chat_api as api

ASK: list[ChatMessage] = [{"role": "user", "content": "hello"}]
HASTE = ModelLimits(backoff_s=0.01, silence_s=0.3)
HELLO = api.stream(api.words("Hello."), api.ended())


@asynccontextmanager
async def client(
    *replies: Reply, fallbacks: dict[str, str] | None = None, limits: ModelLimits = HASTE
) -> AsyncIterator[tuple[ChatCompletions, ApiServer]]:
    script = iter(replies)
    async with serving(lambda request: next(script)) as server:
        model = ChatCompletions(base_url=f"{server.url}/v1", api_key="k", fallbacks=fallbacks, limits=limits)
        try:
            yield model, server
        finally:
            await model.close()


async def said(model: ChatCompletions) -> list[Delta]:
    return [delta async for delta in model.stream(ASK, model="first")]


async def text_of(model: ChatCompletions) -> str:
    return "".join(delta.text for delta in await said(model) if isinstance(delta, TextDelta))


TROUBLE = {
    "429": api.error(429),
    "500": api.error(500),
    "408": api.error(408),
    "no answer": Reply(breaks_off=True),
    "broken off": api.stream([api.chunk({"role": "assistant", "content": ""})], breaks_off=True),
    "ended early": api.stream([api.chunk({"role": "assistant", "content": ""})]),
    "bad json": api.stream([b"data: {not json\n\n"]),
    "a list": api.stream([b'data: ["a", "list"]\n\n']),
    "odd choices": api.stream([b'data: {"choices": "none"}\n\n']),
    "error event": api.stream([b'data: {"error": {"message": "overloaded", "code": "overloaded"}}\n\n']),
    "html": text_reply("<html>hello</html>"),
    "silence": Reply(delay_s=1.0, breaks_off=True),
}


@pytest.mark.parametrize("trouble", TROUBLE)
async def test_a_failure_before_the_first_word_is_tried_again(trouble: str) -> None:
    async with client(TROUBLE[trouble], HELLO) as (model, server):
        assert await text_of(model) == "Hello."
        assert len(server.requests) == 2


async def test_the_number_of_attempts_is_bounded() -> None:
    async with client(*[api.error(500)] * 4) as (model, server):
        with pytest.raises(ModelUnavailable, match="500"):
            await said(model)
        assert len(server.requests) == 3


@pytest.mark.parametrize("refusal", [api.error(401), api.error(400), api.error(429, "insufficient_quota")])
async def test_a_permanent_refusal_is_not_tried_again(refusal: Reply) -> None:
    async with client(refusal, HELLO) as (model, server):
        with pytest.raises(ModelUnavailable) as caught:
            await said(model)
        assert not caught.value.retryable
        assert len(server.requests) == 1


async def test_a_stream_that_breaks_after_the_first_word_is_not_started_again() -> None:
    async with client(api.stream(api.words("Hel"), breaks_off=True), HELLO) as (model, server):
        deltas = []
        with pytest.raises(ModelUnavailable):
            async for delta in model.stream(ASK, model="first"):
                deltas.append(delta)  # noqa: PERF401 - what came before the break counts
        assert deltas == [TextDelta("Hel")]
        assert len(server.requests) == 1


async def test_the_pause_that_a_server_asks_for_has_an_upper_bound() -> None:
    limits = ModelLimits(backoff_s=0.001, longest_pause_s=0.05)
    async with client(api.error(429, headers={"retry-after": "3600"}), HELLO, limits=limits) as (model, _):
        async with asyncio.timeout(10):
            assert await text_of(model) == "Hello."
    assert limits.pause_s(1, 0.02) >= 0.02
    assert ModelLimits().pause_s(1, 3600) == 4.0


async def test_a_server_with_one_model_is_asked_for_that_model_only() -> None:
    async with serving(lambda request: HELLO) as server:
        model = ChatCompletions(base_url=server.url, api_key="k", only_model="llama3.2", limits=HASTE)
        assert await text_of(model) == "Hello."
        await model.close()
    assert [request.json()["model"] for request in server.requests] == ["llama3.2"]


async def test_the_fallback_answers_when_the_first_model_does_not() -> None:
    trouble = [api.error(500)] * 3
    async with client(*trouble, HELLO, fallbacks={"first": "second"}) as (model, server):
        assert await text_of(model) == "Hello."
        assert [request.json()["model"] for request in server.requests] == ["first"] * 3 + ["second"]


async def test_the_request_has_the_documented_form() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    async with client(HELLO) as (model, server):
        deltas = [delta async for delta in model.stream(ASK, model="m", tools=tools)]
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer k"
    assert request.json() == {
        "model": "m",
        "messages": ASK,
        "tools": tools,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert deltas[-1] == Finished("stop", 10, 5)


def test_a_server_gets_the_options_by_the_names_that_it_knows() -> None:
    for given in ("max_tokens", "max_completion_tokens"):
        options = read_options("x", {given: 64, "temperature": 1, "stream": False})
        assert options.fields("https://api.openai.com/v1") == {"max_completion_tokens": 64, "temperature": 1}
        assert options.fields("http://localhost:11434/v1") == {"max_tokens": 64, "temperature": 1}


async def test_interleaved_call_pieces_are_joined() -> None:
    first = api.call_pieces(0, "a", "one", '{"x":', "1}")
    second = api.call_pieces(1, "b", "two", '{"y":', "2}")
    mixed = [part for pair in zip(first, second, strict=True) for part in pair]
    async with client(api.stream(mixed, api.ended("tool_calls"))) as (model, _):
        calls = [delta for delta in await said(model) if isinstance(delta, ToolCall)]
    assert calls == [ToolCall("a", "one", '{"x":1}'), ToolCall("b", "two", '{"y":2}')]


async def test_whole_calls_under_one_index_stay_apart() -> None:
    both = [*api.call_pieces(0, "a", "one", "{}"), *api.call_pieces(0, "b", "two", "{}")[:1]]
    async with client(api.stream(both, api.ended("tool_calls"))) as (model, _):
        calls = [delta for delta in await said(model) if isinstance(delta, ToolCall)]
    assert [(call.id, call.name) for call in calls] == [("a", "one"), ("b", "two")]


async def test_errors_never_repeat_the_text_of_the_server() -> None:
    secret = text_reply('{"error": {"message": "the user said: my PIN is 1234"}}', 400, "application/json")
    async with client(secret) as (model, _):
        with pytest.raises(ModelUnavailable) as caught:
            await said(model)
    assert "1234" not in str(caught.value)


async def test_an_address_without_a_server_is_a_typed_error() -> None:
    model = ChatCompletions(base_url="http://127.0.0.1:9/v1", api_key="k", limits=HASTE)
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await said(model)
    await model.close()
