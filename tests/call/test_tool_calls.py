"""Each tool call ends in exactly one event, for any arguments and any outcome of the Thinker."""

import asyncio
import json
import logging
from dataclasses import dataclass, field

import pytest

from backend.call import tool_calls
from backend.call.call_ledger import CallLedger
from backend.call.tool_calls import CALL_LIMIT, REMEMBERED_LIMIT, CallView, ThinkerEvent, ToolCallDispatcher
from backend.errors import NoAnswer
from backend.observability.call_metrics import CallMetrics
from backend.page_events import ThinkerChanged, ToolProgress
from backend.sessions.session import Session, SessionRequest
from backend.thinkers.base import Answer, Question
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.run import ThinkerRun
from backend.turns.commands import RunThinker
from backend.turns.events import ThinkerFailed, ThinkerFinished
from tests.call.world import settle, think_at_once, thinkers

TOOL = "route_to_thinker"


async def crash(_: ThinkerRun) -> Answer:
    raise RuntimeError("the caller's secret")


async def refuse(_: ThinkerRun) -> Answer:
    raise NoAnswer("Nobody knows.")


async def never(_: ThinkerRun) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


async def step_by_step(run: ThinkerRun) -> Answer:
    run.progress("looking it up")
    run.progress("", ToolProgress("t1", "atlas", "started"))
    run.progress("", ToolProgress("t1", "atlas", "finished"))
    return Answer("Done.", "cache")


@dataclass
class OneCall:
    """The tool calls of one voice call: their outcomes, and the events on the page."""

    outcomes: list[ThinkerEvent] = field(default_factory=list)
    shown: list[ThinkerChanged] = field(default_factory=list)
    metrics: CallMetrics = field(default_factory=lambda: CallMetrics(["good", "slow"]))

    def __post_init__(self) -> None:
        registry = thinkers(
            good=think_at_once,
            broken=crash,
            empty=refuse,
            slow=never,
            steps=step_by_step,
            passing=(self.think_later, {"filler": "Nearly there."}),
        )
        self.answered = asyncio.Event()
        self.calls = self.over(registry)

    def over(self, thinkers: ThinkerDispatcher) -> ToolCallDispatcher:
        """Return the dispatcher of this call over other Thinkers."""
        view = CallView(
            question=lambda *_: Question("", "", "s1", "ada", conversation_id="c1"),
            dispatch=self.outcomes.append,
            publish=self.shown.append,
            ledger=CallLedger(None, Session(SessionRequest("ada", "c1"), "fake"), lambda: ""),
        )
        return ToolCallDispatcher(thinkers, view, self.metrics)

    async def think_later(self, _: ThinkerRun) -> Answer:
        """Answer when the test says so."""
        await self.answered.wait()
        return Answer("Old news.", "live")

    async def call(self, domain: str, query: str = "why") -> ThinkerEvent:
        """Make a tool call; return the one event in which it ends."""
        return await self.raw(TOOL, json.dumps({"domain": domain, "query": query}))

    async def raw(self, name: str, arguments: str) -> ThinkerEvent:
        """Make a tool call with any name and arguments; return its event."""
        before = len(self.outcomes)
        self.calls.run(RunThinker(f"c{before}", name, arguments, turn=1))
        await settle()
        [event] = self.outcomes[before:]
        return event

    def counted(self, domain: str, outcome: str) -> float:
        """Return how often this outcome of a Thinker was counted."""
        labels = {"domain": domain, "outcome": outcome}
        return self.metrics.registry.get_sample_value("voice_thinker_seconds_count", labels) or 0


async def test_an_answer_has_its_source_and_citations() -> None:
    call = OneCall()
    event = await call.call("good", "why is the sky blue")
    assert isinstance(event, ThinkerFinished)
    output = json.loads(event.output)
    assert output == {
        "domain": "good",
        "answer": "About why is the sky blue.",
        "source": "live",
        "citations": [{"title": "a book", "url": ""}],
    }


@pytest.mark.document("001", "events of the page")
async def test_the_page_gets_each_stage_of_a_question() -> None:
    call = OneCall()
    await call.call("steps", "why")
    call.shown.append(call.calls.settled(ThinkerChanged("c0", "complete")))
    assert [event.stage for event in call.shown] == [
        "routed",
        "working",
        "working",
        "working",
        "working",
        "complete",
    ]
    assert call.shown[2].detail == "looking it up"
    tools = [shown.tool for shown in call.shown if shown.tool]
    assert tools == [ToolProgress("t1", "atlas", "started"), ToolProgress("t1", "atlas", "finished")]
    assert {shown.work.turn for shown in call.shown if shown.work} == {1}
    last = call.shown[-1]
    assert last.work and (last.call_id, last.work.domain, last.work.label) == ("c0", "steps", "Steps")
    assert (last.work.query, last.work.source) == ("why", "cache") and last.work.elapsed_ms >= 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (TOOL, "{not json"),
        (TOOL, "[]"),
        (TOOL, "{}"),
        (TOOL, '{"domain": "good", "query": ""}'),
        (TOOL, '{"domain": "astrology", "query": "why"}'),
        ("rm_rf", "{}"),
        ("x" * 10_000, ""),
    ],
)
async def test_an_invalid_tool_call_fails_with_a_reason_for_the_model(name: str, arguments: str) -> None:
    call = OneCall()
    event = await call.raw(name, arguments)
    assert isinstance(event, ThinkerFailed) and event.reason
    work = call.calls.settled(ThinkerChanged("c0", "failed")).work
    assert work and work.error == event.reason and len(work.label) <= 64
    assert call.shown == [], "the page shows an invalid call as routed"


async def test_a_thinker_without_an_answer_fails_with_its_own_words() -> None:
    event = await OneCall().call("empty")
    assert event == ThinkerFailed("c0", "Nobody knows.")


async def test_the_crash_of_a_thinker_reveals_no_details(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        event = await OneCall().call("broken")
    assert isinstance(event, ThinkerFailed)
    assert "secret" not in event.reason and "secret" not in caplog.text


async def test_a_cancelled_tool_call_is_counted_and_makes_no_event() -> None:
    call = OneCall()
    call.calls.run(RunThinker("c0", TOOL, '{"domain": "slow", "query": "why"}'))
    await settle()
    assert len(call.calls._working) == 1
    call.calls.cancel("c0")
    call.calls.cancel("never heard of")
    await settle()
    assert call.outcomes == [] and call.calls._working == []
    assert call.counted("slow", "cancelled") == 1


async def test_too_many_parallel_tool_calls_are_refused_with_the_reason_on_the_page() -> None:
    call = OneCall()
    for number in range(CALL_LIMIT):
        call.calls.run(RunThinker(f"slow{number}", TOOL, '{"domain": "slow", "query": "why"}'))
    event = await call.call("good")
    assert isinstance(event, ThinkerFailed) and "Too many" in event.reason
    work = call.calls.settled(ThinkerChanged("c0", "failed")).work
    assert work and work.error == event.reason
    await call.calls.close()
    assert isinstance(await call.call("good"), ThinkerFinished)


async def test_an_outcome_is_counted_once_even_if_the_answer_becomes_stale() -> None:
    call = OneCall()
    await call.call("good")
    call.calls.settled(ThinkerChanged("c0", "complete"))
    call.calls.settled(ThinkerChanged("c0", "stale"))
    assert (call.counted("good", "complete"), call.counted("good", "stale")) == (1, 0)


async def test_the_filler_is_that_of_the_newest_working_thinker() -> None:
    call = OneCall()
    assert call.calls.filler() == ""
    call.calls.run(RunThinker("c0", TOOL, '{"domain": "passing", "query": "why"}'))
    await settle()
    assert call.calls.filler() == "Nearly there."
    call.calls.run(RunThinker("c1", TOOL, '{"domain": "slow", "query": "why"}'))
    await settle()
    assert call.calls.filler() == "", "the filler is that of an older question"
    call.calls.cancel("c1")
    await settle()
    assert call.calls.filler() == "Nearly there."
    await call.calls.close()


async def test_forgotten_work_still_has_a_page_event() -> None:
    call = OneCall()
    for _ in range(REMEMBERED_LIMIT + 1):
        await call.call("good")
    forgotten = ThinkerChanged("c0", "stale")
    assert call.calls.settled(forgotten) == forgotten
    known = call.calls.settled(ThinkerChanged("c1", "stale")).work
    assert known and known.domain == "good"


async def test_closing_does_not_wait_for_a_thinker_that_ignores_its_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tool_calls, "STOP_WITHIN_S", 0.02)
    let_go = asyncio.Event()

    async def deaf(_: ThinkerRun) -> Answer:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return Answer("At last.", "model")

    call = OneCall()
    call.calls = call.over(thinkers(deaf=deaf))
    call.calls.run(RunThinker("c0", TOOL, '{"domain": "deaf", "query": "why"}'))
    await settle()
    async with asyncio.timeout(20):
        await call.calls.close()
    let_go.set()
    await settle()


async def test_an_uninterruptible_answer_is_marked_for_the_turn_machine() -> None:
    async def read_the_terms(_: ThinkerRun) -> Answer:
        return Answer("This call is recorded.", "model", interruptible=False)

    call = OneCall()
    call.calls = call.over(thinkers(legal=read_the_terms, good=think_at_once))
    for domain, interruptible in (("legal", False), ("good", True)):
        event = await call.call(domain)
        assert isinstance(event, ThinkerFinished)
        assert event.interruptible is interruptible
