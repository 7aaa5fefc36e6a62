"""The trace of a call: the tree of spans, their outcomes and their facts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backend import page_events as page
from backend.agent.session import Agent
from backend.call.call_trace import CallTrace
from backend.errors import ModelUnavailable
from backend.models.base import Finished
from backend.observability.tracing import within
from backend.sessions.session import Session, SessionRequest
from backend.testing.model import ScriptedModel
from backend.testing.tracer import FakeTracer, TracedSpan
from backend.turns import events as ev
from tests.observability.world import (
    SPOKEN,
    answered,
    begin_turn,
    hang_up,
    route,
    speak_reply,
    traced_call,
)
from tests.support.agents import Slow, agent, call, echo
from tests.support.waiting import until

WEATHER = [call("get_current_weather", '{"location": "Seattle"}')]


async def ask(placed: Any, domain: str = "weather", query: str = "weather in Seattle", number: int = 1) -> None:
    await begin_turn(placed)
    await route(placed, domain, query, f"c{number}")
    await answered(placed, number)
    await speak_reply(placed)


async def test_tokens_add_up_from_the_model_to_the_session() -> None:
    tracer = FakeTracer()
    first = [*WEATHER, Finished("tool_calls", tokens_in=100, tokens_out=7)]
    async with traced_call(tracer, first, ["Mild.", Finished("stop", 200, 3)]) as placed:
        await ask(placed)
        await hang_up(placed)
    assert sorted(span.tokens for span in tracer.ended("model")) == [107, 203]
    assert [tracer.ended(kind)[0].tokens for kind in ("thinker", "turn", "session")] == [310, 310, 310]


async def test_the_turn_span_has_its_legs_and_the_session_span_its_reason() -> None:
    tracer = FakeTracer()
    async with traced_call(tracer, WEATHER, ["It is mild."]) as placed:
        await ask(placed)
        [legs] = placed.events_of("turn_metrics")
        await hang_up(placed)
    [turn] = tracer.ended("turn")
    assert {name: turn.facts[name] for name in legs} == legs
    assert (turn.outcome, turn.facts["typed"]) == ("complete", True)
    [session] = tracer.ended("session")
    assert (session.outcome, session.facts["reason"], session.facts["turns"]) == ("complete", "disconnected", 1)


@pytest.mark.document("001", "cached answers")
async def test_a_cached_answer_is_a_cache_hit_without_a_model() -> None:
    tracer = FakeTracer()
    async with traced_call(tracer, ["Because of scattering."]) as placed:
        for number in (1, 2):
            await ask(placed, "knowledge", "Why is the sky blue?", number)
        await hang_up(placed)
    first, second = tracer.ended("thinker")
    assert [each.facts["source"] for each in (first, second)] == ["model", "cache"]
    routings = tracer.ended("routing")
    assert [(each.name, each.facts["cache"], each.parent) for each in routings] == [
        ("thinker_router.think", "miss", first),
        ("thinker_router.think", "hit", second),
    ]
    assert [[span.name for span in tracer.under(each)] for each in routings] == [["knowledge_thinker.think"], []]
    assert (first.tokens, second.tokens) == (15, 0)


async def test_a_failing_thinker_has_a_failed_span() -> None:
    tracer = FakeTracer()
    async with traced_call(tracer, [ModelUnavailable("no")]) as placed:
        await ask(placed)
        await hang_up(placed)
    assert [tracer.ended(kind)[0].outcome for kind in ("model", "thinker", "turn")] == ["failed", "failed", "complete"]


async def test_an_answer_after_its_turn_is_stale_in_its_own_turn() -> None:
    tracer = FakeTracer()
    async with traced_call(tracer, [0.05, "Late."]) as placed:
        await begin_turn(placed)
        await route(placed, "knowledge", "Why is the sky blue?")
        await begin_turn(placed, "and why is grass green?")
        await answered(placed)
        await hang_up(placed)
    [thinker] = tracer.ended("thinker")
    first, second = sorted(tracer.ended("turn"), key=lambda turn: turn.began)
    assert (thinker.outcome, thinker.parent) == ("stale", first)
    assert (first.outcome, second.outcome) == ("cancelled", "cancelled")
    assert first.ended >= thinker.ended


async def test_a_complete_answer_that_is_never_spoken_is_stale() -> None:
    tracer = FakeTracer()
    async with traced_call(tracer, ["A."]) as placed:
        await begin_turn(placed)
        await route(placed, "knowledge", "Why is the sky blue?", finish=False)
        await answered(placed)
        await begin_turn(placed, "and why is grass green?")
        await hang_up(placed)
    assert [data["event"] for data in placed.events_of("thinker")][-2:] == ["complete", "stale"]
    [thinker] = tracer.ended("thinker")
    assert thinker.outcome == "stale"


async def test_open_spans_are_cancelled_when_the_caller_leaves() -> None:
    tracer = FakeTracer()
    async with traced_call(tracer, ["One", 30.0, "two"]) as placed:
        await begin_turn(placed)
        await route(placed, "knowledge", "Count slowly.")
        await until(lambda: any("words" in str(data.get("detail")) for data in placed.events_of("thinker")))
        await hang_up(placed)
    outcomes = [tracer.ended(kind)[0].outcome for kind in ("model", "thinker", "turn", "session")]
    assert outcomes == ["cancelled", "cancelled", "cancelled", "complete"]


# --- the agent by itself ------------------------------------------------------------------------------


async def think_under(tracer: FakeTracer, who: Agent, text: str = "x") -> list[TracedSpan]:
    """One turn of the agent inside a session's span; the spans within it."""
    span = tracer.session("s1")
    with within(span):
        await who.create_session("c").think(text)
    span.end()
    return tracer.under(tracer.ended("session")[0])


async def test_parallel_tool_calls_have_separate_spans() -> None:
    slow = Slow()
    calls = [call("slow", '{"seconds": 0.03}', "a"), call("slow", '{"seconds": 0.031}', "b")]
    tracer = FakeTracer()
    inside = await think_under(tracer, agent(ScriptedModel(calls, ["Done."]), slow.tool))
    _, first, second, _ = inside
    assert [record.kind for record in inside] == ["model", "tool", "tool", "model"]
    assert second.began < first.ended, "they overlap"


async def test_an_unknown_tool_is_traced_without_the_name_that_the_model_gave() -> None:
    tracer = FakeTracer()
    model = ScriptedModel([call("my_private_words")], ["Sorry."])
    inside = await think_under(tracer, agent(model, echo))
    assert [(record.name, record.outcome) for record in inside][1] == ("unknown_tool", "failed")


async def test_cancelling_a_tool_cancels_its_span() -> None:
    tracer, slow = FakeTracer(), Slow()
    session = agent(ScriptedModel([call("slow")]), slow.tool).create_session("c")
    with within(tracer.session("s1")):
        task = asyncio.create_task(session.think("x"))
    await until(lambda: slow.running == 1)
    session.cancel()
    await task
    assert [(record.kind, record.outcome) for record in tracer.spans] == [
        ("model", "complete"),
        ("tool", "cancelled"),
    ]


async def test_a_model_span_has_the_first_word_and_the_answering_model() -> None:
    tracer = FakeTracer()
    model = ScriptedModel([0.02, "Hi.", Finished("stop", 5, 2, model="the-fallback")])
    [record] = await think_under(tracer, agent(model, echo))
    first = record.facts["first_token_ms"]
    assert isinstance(first, int | float) and first >= 20
    assert (record.name, record.tokens, record.facts["model"]) == ("test-model", 7, "the-fallback")


async def test_a_turn_span_counts_murmurs_and_discarded_tokens_without_any_words() -> None:
    tracer = FakeTracer()
    trace = CallTrace(tracer, Session(SessionRequest("ada"), "fake"))
    trace.on_turn(1, ev.SpeechStopped(900))
    trace.on_event(page.ReplyDiscarded(1, 1300, 20))
    trace.on_event(page.MurmurHeard("agreement", SPOKEN))
    trace.on_event(page.MurmurHeard("noise", ""))
    trace.on_turn(2, ev.SpeechStopped(900))
    trace.on_event(page.ReplyDiscarded(1, 100, 0))
    trace.on_event(page.ReplyDiscarded(7, 5, 5))
    trace.close("disconnected")
    first, second = tracer.ended("turn")
    assert (first.facts["murmurs"], first.facts["discarded_tokens"]) == (2, 1420)
    assert "murmurs" not in second.facts and "discarded_tokens" not in second.facts
    assert SPOKEN not in str(first.facts)
