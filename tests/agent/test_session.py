"""The agent's loop: rounds of tools, cancellation, failures, and honesty about what is missing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from backend.agent.events import AgentEvent, StateChanged, ThinkingState
from backend.agent.session import APOLOGY
from backend.errors import BadRequest, ModelUnavailable, NoAnswer
from backend.models.base import Finished
from backend.models.chat_completions import ChatCompletions
from backend.page_events import ToolCallEvent, ToolResultEvent
from backend.storage.messages import Message
from backend.testing.model import ScriptedModel
from backend.testing.services.server import serving
from backend.tools.base import Result, tool
from tests.agent.test_context import assert_valid
from tests.support import chat_api as api
from tests.support.agents import Slow, agent, call, echo, fail, kinds
from tests.support.waiting import until


def sent(model: ScriptedModel, request: int = -1) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = model.requests[request]["messages"]
    return messages


async def test_a_tool_call_and_its_result_are_reported_and_words_arrive_one_by_one() -> None:
    model = ScriptedModel([call("echo", '{"text": "hi"}')], ["It says ", "hi."])
    heard: list[str] = []
    calls: list[ToolCallEvent] = []
    results: list[ToolResultEvent] = []
    session = agent(model, echo).create_session("c", heard.append, calls.append, results.append)
    response = await session.think("x")
    assert heard == ["It says ", "hi."] and response.text == "It says hi."
    assert [c.tool_name for c in calls] == [r.tool_name for r in results] == ["echo"]
    assert json.loads(sent(model)[-1]["content"]) == {"text": "hi"}
    assert response.tool_calls_made == ("echo",)
    assert response.live
    assert_valid(session.get_context().messages)


async def test_an_error_of_an_asynchronous_callback_ends_the_turn() -> None:
    async def refuse(token: str) -> None:
        await asyncio.sleep(0)
        raise RuntimeError(token)

    session = agent(ScriptedModel("Hi.")).create_session("c", on_token=refuse)
    with pytest.raises(RuntimeError, match="Hi"):
        await session.think("x")
    assert session.state is ThinkingState.ERROR


@pytest.mark.document("000", "states")
@pytest.mark.document("000", "thinking")
async def test_one_stream_of_events_shows_a_turn_in_order() -> None:
    events: list[AgentEvent] = []
    model = ScriptedModel([call("echo", '{"text": "hi"}')], ["Hi."])
    await agent(model, echo).create_session("c", on_event=events.append).think("x")
    assert kinds(events) == [
        *["StateChanged", "StateChanged", "ToolCallEvent", "ToolResultEvent"],
        *["StateChanged", "StateChanged", "TokenGenerated", "StateChanged"],
    ]
    states = [event.state.value for event in events if isinstance(event, StateChanged)]
    assert states == ["processing", "tool_calling", "processing", "generating", "complete"]


@tool("seek", "Seeks.")
async def seek() -> Result:
    """Find nothing."""
    return Result({"results": []}, empty=True)


@pytest.mark.document("001", "tools and samples")
async def test_an_answer_is_live_only_if_a_tool_found_something() -> None:
    for used, live in ((["seek"], False), (["seek", "echo"], True)):
        calls = [call(name, '{"text": "hi"}' if name == "echo" else "{}", name) for name in used]
        response = await agent(ScriptedModel(calls, ["Done."]), seek, echo).create_session("c").think("x")
        assert response.live is live


@pytest.mark.document("002", "tool loop")
async def test_the_failure_of_a_tool_reaches_the_model_as_a_result() -> None:
    model = ScriptedModel([call("fail")], ["I could not find out."])
    response = await agent(model, fail).create_session("c").think("x")
    result = json.loads(sent(model)[-1]["content"])
    assert result["error"]["type"] == "failed"
    assert "secret" not in sent(model)[-1]["content"]
    assert not response.live
    assert not response.cacheable


@pytest.mark.document("002", "tool loop")
async def test_a_turn_stops_after_ten_rounds_and_says_that_it_is_incomplete() -> None:
    numbers = count()

    def scene(_: object, tools: list[Any]) -> list[Any]:
        return [call("echo", f'{{"text": "{next(numbers)}"}}')] if tools else ["I found some of it."]

    model = ScriptedModel(improvise=scene)
    session = agent(model, echo).create_session("c")
    response = await session.think("x")
    assert response.incomplete
    assert response.text == "I could not look everything up. I found some of it."
    assert not response.cacheable
    assert response.tool_calls_made == ("echo",) * 10
    assert len(model.requests) == 11
    assert_valid(session.get_context().messages)


async def test_a_repeated_tool_call_is_refused() -> None:
    made = 0

    @tool("look", "Looks.")
    async def look(where: str) -> Result:
        nonlocal made
        made += 1
        return Result({"found": False})

    def scene(_: object, tools: list[Any]) -> list[Any]:
        spaces = " " * len(model.requests)  # another spacing, the same call
        return [call("look", f'{{"where":{spaces}"here"}}')] if tools else ["It is not here."]

    model = ScriptedModel(improvise=scene)
    response = await agent(model, look).create_session("c").think("x")
    assert made == 1
    assert response.incomplete
    assert len(model.requests) == 4
    assert json.loads(sent(model)[-1]["content"])["error"]["type"] == "repeated"


async def test_a_passing_failure_is_tried_once_more() -> None:
    made = 0

    @tool("late", "Is late.", deadline_s=0.01)
    async def late() -> Result:
        nonlocal made
        made += 1
        await asyncio.sleep(0 if made > 1 else 5)
        return Result({"here": True})

    model = ScriptedModel([call("late")], [call("late")], ["Here."])
    response = await agent(model, late).create_session("c").think("x")
    assert made == 2
    assert response.live


@pytest.mark.parametrize("id_", ["c{}", "same"])
async def test_parallel_calls_are_cut_to_eight_and_have_distinct_ids(id_: str) -> None:
    slow = Slow()
    calls = [call("slow", f'{{"seconds": 0.05{n}}}', id_.format(n)) for n in range(10, 30)]
    session = agent(ScriptedModel(calls, ["Done."]), slow.tool).create_session("c")
    response = await session.think("x")
    assert response.tool_calls_made == ("slow",) * 8
    assert slow.most == 8, "the calls did not run in parallel"
    assert_valid(session.get_context().messages)


async def test_invalid_json_arguments_do_not_enter_the_history() -> None:
    model = ScriptedModel([call("echo", '{"text": ')], ["Sorry."])
    await agent(model, echo).create_session("c").think("x")
    assert sent(model)[-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert json.loads(sent(model)[-1]["content"])["error"]["type"] == "invalid_arguments"


@pytest.mark.alone
async def test_cancelling_an_answer_stops_within_100_ms_and_closes_the_connection() -> None:
    reply = api.stream(api.words("One "), [30.0], api.words("two"), api.ended())
    async with serving(lambda request: reply) as server:
        model = ChatCompletions(base_url=server.url, api_key="k")
        spoken = asyncio.Event()
        session = agent(model).create_session("c", on_token=lambda _: spoken.set())
        task = asyncio.create_task(session.think("x"))
        await asyncio.wait_for(spoken.wait(), 5)
        began = time.perf_counter()
        session.cancel()
        response = await task
        assert time.perf_counter() - began < 0.1
        await asyncio.wait_for(server.hung_up.wait(), 10)
        await model.close()
    assert response.state is session.state is ThinkingState.CANCELLED
    assert session.is_cancelled()
    assert session.get_metrics().cancelled
    assert [m.content for m in session.get_context().messages] == ["x", "One "]


async def test_cancelling_a_tool_call_stops_the_tool_and_leaves_the_history_valid() -> None:
    slow = Slow()
    model = ScriptedModel(["Looking. ", call("echo", '{"text": "a"}', "a"), call("slow", id_="b")], ["Never."], ["Hi."])
    session = agent(model, slow.tool, echo).create_session("c")
    task = asyncio.create_task(session.think("first"))
    await until(lambda: slow.running == 1)
    assert session.state is ThinkingState.TOOL_CALLING
    began = time.perf_counter()
    session.cancel()
    response = await task
    assert time.perf_counter() - began < 10
    assert slow.stopped == 1
    assert response.state is ThinkingState.CANCELLED
    assert_valid(session.get_context().messages)
    model._scenes.pop(0)
    assert (await session.think("second")).text == "Hi."
    assert not session.is_cancelled()


async def test_a_tool_that_ignores_its_cancellation_does_not_delay_the_end_of_the_turn() -> None:
    release = asyncio.Event()

    @tool("stubborn", "Goes on.")
    async def stubborn() -> Result:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await release.wait()
        return Result({})

    events: list[AgentEvent] = []
    session = agent(ScriptedModel([call("stubborn")]), stubborn).create_session("c", on_event=events.append)
    task = asyncio.create_task(session.think("x"))
    await until(lambda: session.state is ThinkingState.TOOL_CALLING)
    began = time.perf_counter()
    session.cancel()
    assert (await task).state is ThinkingState.CANCELLED
    assert time.perf_counter() - began < 10
    release.set()
    await asyncio.sleep(0.01)
    assert kinds(events)[-1] == "StateChanged" and session.state is ThinkingState.CANCELLED


async def test_cancelling_the_awaiting_task_stops_the_turn() -> None:
    slow = Slow()
    session = agent(ScriptedModel(["Hm. ", call("slow")]), slow.tool).create_session("c")
    task = asyncio.create_task(session.think("x"))
    await until(lambda: slow.running == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.stopped == 1
    assert session.state is ThinkingState.CANCELLED
    assert [m.content for m in session.get_context().messages] == ["x", "Hm. "]


async def test_cancelling_while_the_conversation_loads_asks_no_model() -> None:
    class SlowStore:
        async def load(self, conversation_id: str, user_id: str) -> list[Message]:
            await asyncio.sleep(0.02)
            return []

        async def append(self, conversation_id: str, user_id: str, messages: Sequence[Message]) -> None:
            return None

    model = ScriptedModel(["Never."])
    session = agent(model, store=SlowStore()).create_session("c", user_id="ada")
    task = asyncio.create_task(session.think("x"))
    await asyncio.sleep(0)
    session.cancel()
    assert (await task).state is ThinkingState.CANCELLED
    assert model.requests == []


async def test_a_second_turn_is_refused_while_the_first_runs() -> None:
    session = agent(ScriptedModel([30.0])).create_session("c")
    task = asyncio.create_task(session.think("x"))
    await asyncio.sleep(0)
    with pytest.raises(BadRequest):
        await session.think("y")
    session.cancel()
    await task


async def test_a_model_that_breaks_off_raises_a_typed_error() -> None:
    session = agent(ScriptedModel(["Half", ModelUnavailable("gone")])).create_session("c")
    with pytest.raises(ModelUnavailable):
        await session.think("x", raises=True)
    assert session.state is ThinkingState.ERROR
    assert [m.content for m in session.get_context().messages] == ["x", "Half"]


@pytest.mark.document("002", "tool loop")
async def test_an_unread_answer_that_breaks_off_is_asked_for_once_more() -> None:
    events: list[AgentEvent] = []
    unseen = replace(agent(ScriptedModel(["Half", ModelUnavailable("gone")], ["The whole."])), shown=False)
    session = unseen.create_session("c", on_event=events.append)
    response = await session.think("x", raises=True)
    assert response.text == "The whole."
    assert [m.content for m in session.get_context().messages] == ["x", "The whole."]
    gone = ModelUnavailable("gone")
    twice = replace(agent(ScriptedModel(["Half", gone], ["Half", gone])), shown=False)
    with pytest.raises(ModelUnavailable):
        await twice.create_session("c").think("x", raises=True)


@pytest.mark.block("000/errors.py")
@pytest.mark.document("000", "errors")
async def test_a_failure_returns_an_apology_that_can_be_spoken() -> None:
    events: list[AgentEvent] = []
    model = ScriptedModel([ModelUnavailable("the key sk-1 was refused")], ["Here again."])
    session = agent(model).create_session("c", on_event=events.append)
    response = await session.think("x")
    assert (response.state, response.text) == (ThinkingState.ERROR, APOLOGY)
    assert (await session.think("y")).text == "Here again."


@pytest.mark.document("000", "cancelling and metrics")
async def test_awaiting_a_cancellation_waits_for_the_end_of_the_turn() -> None:
    session = agent(ScriptedModel(["Half", 30.0, "whole"])).create_session("c")
    await session.cancel()
    thinking = asyncio.create_task(session.think("x"))
    await asyncio.sleep(0.05)
    await asyncio.wait_for(session.cancel(), 10)
    assert (await asyncio.wait_for(thinking, 10)).state is ThinkingState.CANCELLED
    assert session.is_cancelled()


@pytest.mark.document("000", "bounded context")
async def test_a_context_has_its_documented_methods() -> None:
    session = agent(ScriptedModel(["Hello."])).create_session("c")
    await session.think("hi")
    context = session.get_context()
    system, *said = context.get_messages_for_llm()
    assert system == {"role": "system", "content": context.system_prompt}
    assert said == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
    context.clear()
    assert context.get_messages_for_llm() == [system]


async def test_a_silent_model_is_asked_once_more_before_the_turn_fails() -> None:
    model = ScriptedModel([""], ["  "])
    session = agent(model).create_session("c")
    with pytest.raises(NoAnswer):
        await session.think("x", raises=True)
    assert len(model.requests) == 2
    assert session.state is ThinkingState.ERROR


async def test_an_answer_that_was_cut_says_so() -> None:
    response = await agent(ScriptedModel(["It is long.", Finished("length", 1, 1)])).create_session("c").think("x")
    assert response.incomplete
    assert response.text == "It is long. I had to stop there."


async def test_an_answer_from_sample_data_says_so_even_if_the_model_does_not() -> None:
    @tool("made_up", "Makes it up.")
    async def made_up() -> Result:
        return Result({"value": 1}, sample=True, note="not real")

    scene = ["One, from a blood sample."]
    response = await agent(ScriptedModel([call("made_up")], scene), made_up).create_session("c").think("x")
    assert response.sample
    assert response.text.endswith("That was sample data: live data cannot be reached from here.")
    assert not response.cacheable


async def test_a_spoken_answer_is_made_speakable_and_a_typed_one_is_left_as_it_is() -> None:
    session = agent(ScriptedModel(["**72°F**"], ["**72°F**"])).create_session("c")
    assert (await session.think("x", "voice")).text == "72 degrees Fahrenheit"
    assert (await session.think("x", "chat")).text == "**72°F**"


@pytest.mark.document("000", "cancelling and metrics")
async def test_metrics_count_all_turns_and_measure_the_last() -> None:
    session = agent(ScriptedModel([call("echo", '{"text": "a"}')], [0.01, "A."], ["B."]), echo).create_session("c")
    await session.think("x")
    metrics = session.get_metrics()
    assert (metrics.total_tokens, metrics.tool_calls_count, metrics.rounds) == (30, 1, 1)
    assert metrics.total_latency_ms >= metrics.first_token_latency_ms > 0
    await session.think("y")
    assert session.get_metrics().total_tokens == 45
