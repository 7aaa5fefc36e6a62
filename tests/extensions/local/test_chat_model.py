"""The dialogue by a chat model: a server of the documented protocol on a real socket, which may be slow or faulty."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from backend.extensions.local.dialogue import chat_model
from backend.extensions.local.dialogue.chat_model import FAILURES, ChatModelDialogue, first_model
from backend.models.chat_completions import ModelLimits
from backend.realtime.serving.parts import Call
from backend.testing.services.server import ApiServer, Reply, Request, json_reply, serving
from tests.extensions.local.orders import ROUTE, answered, assistant, note, order, output, routed
from tests.support.chat_api import call_pieces, chunk, ended, error, stream, words

Handler = Callable[[Request], Reply]
QUICK = ModelLimits(attempts=1, connect_s=1, silence_s=1.0)


@asynccontextmanager
async def asking(reply: Reply | Handler, model: str = "llama3.2") -> AsyncIterator[tuple[ChatModelDialogue, ApiServer]]:
    """A dialogue with a server that gives these answers."""
    handler = reply if callable(reply) else lambda request: reply
    async with serving(handler) as server:
        dialogue = ChatModelDialogue(server.url, model or await first_model(server.url, ""), limits=QUICK)
        try:
            yield dialogue, server
        finally:
            await dialogue.close()


async def test_the_first_sentence_is_spoken_while_the_rest_still_streams() -> None:
    slow = stream(words("It is ", "cold. ", "Take"), [0.6], words(" a coat."), ended())
    async with asking(slow) as (dialogue, _):
        began = time.perf_counter()
        async with aclosing(dialogue.answer(order("Is it cold?"))) as parts:
            first = await anext(parts)
            after = time.perf_counter() - began
            rest = [part async for part in parts]
    assert (first, rest) == ("It is cold.", ["Take a coat."])
    assert after < 0.5


async def test_an_interrupted_answer_closes_the_stream() -> None:
    endless = stream(words("Once upon a time. "), [10.0], words("The end."), ended())
    async with asking(endless) as (dialogue, server):
        async with aclosing(dialogue.answer(order("Tell me a story."))) as parts:
            assert await anext(parts) == "Once upon a time."
        await asyncio.wait_for(server.hung_up.wait(), 8)


async def test_the_request_has_the_instructions_the_history_and_the_tools() -> None:
    asked = order(
        "Weather in Oslo?",
        assistant("Let me check."),
        routed("weather", "Weather in Oslo?"),
        "And hurry!",
        output('{"answer": "Cold."}'),
        note("The page was closed."),
        instructions="Be brief.",
    )
    async with asking(stream(words("Cold."), ended())) as (dialogue, server):
        assert await answered(dialogue.answer(asked)) == (["Cold."], [])
    sent = server.requests[0].json()
    assert server.requests[0].path == "/v1/chat/completions"
    assert (sent["model"], sent["stream"]) == ("llama3.2", True)
    assert sent["tools"] == [
        {"type": "function", "function": {key: ROUTE[key] for key in ("name", "description", "parameters")}}
    ]
    assert [message["role"] for message in sent["messages"]] == [
        "system", "user", "assistant", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert sent["messages"][4]["tool_calls"][0]["id"] == sent["messages"][5]["tool_call_id"]
    assert "page was closed" in sent["messages"][-1]["content"]


async def test_a_long_history_is_bounded_and_keeps_its_end() -> None:
    items: list[Any] = [part for n in range(200) for part in (f"Question {n}? " + "x" * 100, assistant(f"Answer {n}."))]
    async with asking(stream(words("Yes."), ended())) as (dialogue, server):
        await answered(dialogue.answer(order(*items, "The last one?")))
    sent = server.requests[0].json()["messages"]
    assert sum(len(message["content"]) for message in sent[1:]) <= 8_100
    assert sent[-1]["content"] == "The last one?"
    assert sent[1]["role"] == "user"


ARGUMENTS = '{"domain": "weather", "query": "Oslo?"}'


def whole(id_: str) -> Any:
    """A call in one piece, under the index that some servers give all of them."""
    function = {"name": "route_to_thinker", "arguments": ARGUMENTS}
    return [chunk({"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": function}]})]


@pytest.mark.parametrize(
    "pieces",
    [
        call_pieces(0, "c1", "route_to_thinker", ARGUMENTS[:9], ARGUMENTS[9:]),
        whole("c1"),
        words("<tool_", 'call>{"name": "route_to_thinker", ', f'"arguments": {ARGUMENTS}}}</tool_call>'),
        words(f'[TOOL_CALLS][{{"name": "route_to_thinker", "arguments": {ARGUMENTS}}}]'),
        words('{"name": "route_to_', f'thinker", "parameters": {ARGUMENTS}}}'),
        words(f'```json\n{{"name": "route_to_thinker", "arguments": {ARGUMENTS}}}\n```'),
    ],
    ids=["streamed", "whole", "tags", "mistral", "bare JSON", "code"],
)
async def test_a_tool_call_is_read_in_every_form_of_servers(pieces: Any) -> None:
    async with asking(stream(pieces, ended("tool_calls"))) as (dialogue, _):
        said, calls = await answered(dialogue.answer(order("Weather in Oslo?")))
    assert said == []
    assert [(name, json.loads(given)) for name, given in calls] == [("route_to_thinker", json.loads(ARGUMENTS))]


async def test_words_before_a_call_are_spoken_before_it() -> None:
    async with asking(stream(words("Let me check."), whole("c1"), ended("tool_calls"))) as (dialogue, _):
        parts = [part async for part in dialogue.answer(order("Weather in Oslo?"))]
    assert parts[0] == "Let me check." and isinstance(parts[1], Call) and len(parts) == 2


@pytest.mark.parametrize("ids", [("c1", "c2"), ("", "")])
async def test_two_whole_calls_under_one_index_are_two(ids: tuple[str, str]) -> None:
    async with asking(stream(*map(whole, ids), ended("tool_calls"))) as (dialogue, _):
        _, calls = await answered(dialogue.answer(order("Weather in Oslo and Rome?")))
    assert len(calls) == 2


async def test_a_server_without_tools_gets_them_as_text() -> None:
    def answer(request: Request) -> Reply:
        if "tools" in request.json():
            problem = {"message": "registry.ollama.ai/library/gemma does not support tools", "type": "api_error"}
            return json_reply({"error": problem}, 400)
        return stream(
            words(f'Let me check. <tool_call>{{"name": "route_to_thinker", "arguments": {ARGUMENTS}}}</tool_call>'),
            ended(),
        )

    async with asking(answer) as (dialogue, server):
        for _ in range(2):
            said, calls = await answered(dialogue.answer(order("Weather in Oslo?")))
            assert (said, len(calls)) == (["Let me check."], 1)
    assert ["tools" in request.json() for request in server.requests] == [True, False, False]
    assert "route_to_thinker" in server.requests[-1].json()["messages"][0]["content"]


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (("<thi", "nk>The caller is cold.", " Hm.</th", "ink>\n\nTake a coat."), ["Take a coat."]),
        (("The caller is cold", "</think>", "Take a coat."), ["Take a coat."]),
        (("## Advice\n\n- **Take** a [coat](http://a.b).\n- Go",), ["Advice", "Take a coat.", "Go"]),
        (("Dr. Who paid 3.50 for it. Then ", "he left!"), ["Dr. Who paid 3.50 for it.", "Then he left!"]),
        (("Is 3 < 4? Yes <b>",), ["Is 3 < 4?", "Yes <b"]),
    ],
)
async def test_only_speakable_text_is_spoken(pieces: tuple[str, ...], said: list[str]) -> None:
    async with asking(stream(words(*pieces), ended())) as (dialogue, _):
        assert (await answered(dialogue.answer(order("Cold?"))))[0] == said


@pytest.mark.parametrize(
    ("reply", "said", "logged"),
    [
        (error(401), chat_model.REFUSED, "401"),
        (error(404), chat_model.REFUSED, "404"),
        (error(500), chat_model.REFUSED, "500"),
        (stream([5.0]), FAILURES["silent"], "does not answer"),
        (stream(ended()), chat_model.EMPTY, ""),
        (stream([b"data: {nonsense\n\n"]), chat_model.BROKE_OFF, "cannot be read"),
    ],
    ids=["key", "model", "fault", "silence", "nothing", "nonsense"],
)
async def test_every_failure_ends_in_a_sentence_and_a_line_of_the_log(
    reply: Reply, said: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(reply) as (dialogue, _):
        with caplog.at_level(logging.WARNING):
            assert await answered(dialogue.answer(order("Hello secret?"))) == ([said], [])
    assert logged in caplog.text and (said == chat_model.EMPTY or "LOCAL_MODEL_KEY" in caplog.text)
    assert "secret" not in caplog.text


async def test_a_missing_server_is_named_with_advice(caplog: pytest.LogCaptureFixture) -> None:
    dialogue = ChatModelDialogue("http://127.0.0.1:9", "m", limits=QUICK)
    assert (await answered(dialogue.answer(order("Hello?"))))[0] == [FAILURES["unreachable"]]
    assert "LOCAL_MODEL_URL" in caplog.text and "ollama serve" in caplog.text
    await dialogue.close()


def models(request: Request) -> Reply:
    if request.method == "GET":
        return json_reply(
            {"object": "list", "data": [{"id": "qwen3:4b", "object": "model", "created": 0, "owned_by": "x"}]}
        )
    return stream(words("Hi."), ended())


async def test_without_a_name_the_first_listed_model_answers() -> None:
    async with asking(models, "") as (dialogue, _):
        assert (await answered(dialogue.answer(order("Hello?"))))[0] == ["Hi."]
        assert dialogue.name == "qwen3:4b"


async def test_an_answer_that_breaks_off_says_so_after_its_words() -> None:
    async with asking(stream(words("It is cold. Take"), [5.0])) as (dialogue, _):
        said, _ = await answered(dialogue.answer(order("Cold?")))
    assert said == ["It is cold.", chat_model.BROKE_OFF]


async def test_short_purposes_are_worded_by_the_model_or_by_fixed_words_in_time() -> None:
    async with asking(stream(words("Still at it! And more."), ended())) as (dialogue, _):
        assert (await answered(dialogue.answer(order("Hm?", purpose="filler", tool_choice="none"))))[0] == [
            "Still at it!"
        ]
    async with asking(stream([60.0])) as (dialogue, _):
        began = time.perf_counter()
        said, _ = await answered(dialogue.answer(order("Hm?", purpose="nudge", tool_choice="none")))
        assert len(said) == 1 and time.perf_counter() - began < 20


async def test_a_dictated_greeting_is_spoken_without_the_model() -> None:
    async with asking(error(500)) as (dialogue, server):
        dictated = order(instructions='Say exactly this, and nothing else: "Welcome."', purpose="greeting")
        assert await answered(dialogue.answer(dictated)) == (["Welcome."], [])
    assert not server.requests


async def test_warming_up_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    dialogue = ChatModelDialogue("http://127.0.0.1:9/v1", "m", limits=QUICK)
    await dialogue.warm_up()
    assert "not ready" in caplog.text
    await dialogue.close()
