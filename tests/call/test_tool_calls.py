"""Each tool call ends in exactly one event, whatever the model wrote and whatever the Thinker does."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from backend.call import tool_calls as desks
from backend.call.tool_calls import CALL_LIMIT, WORK_KEPT, Desk, ThinkerEvent
from backend.conversation.events import ThinkerFailed, ThinkerFinished
from backend.errors import NoAnswer
from backend.observability.call_metrics import Metrics
from backend.thinkers.base import Answer, ToolStep
from backend.thinkers.run import ThinkerRun
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
    run.progress("", ToolStep("t1", "atlas", "started"))
    run.progress("", ToolStep("t1", "atlas", "finished"))
    return Answer("Done.", "cache")


@dataclass
class Office:
    """A desk, what it told the machine, and what it showed the page."""

    told: list[ThinkerEvent] = field(default_factory=list)
    shown: list[dict[str, Any]] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: Metrics(["good", "slow"]))

    turn: int = 1

    def __post_init__(self) -> None:
        registry = thinkers(
            good=think_at_once,
            broken=crash,
            empty=refuse,
            slow=never,
            steps=step_by_step,
            passing=(self.think_later, {"late": "drop", "filler": "Nearly there."}),
            lasting=(self.think_later, {}),
        )
        self.answered = asyncio.Event()
        self.desk = Desk(
            registry,
            session_id="s1",
            user_id="ada",
            conversation_id="c1",
            turn=lambda: self.turn,
            tell=self.told.append,
            publish=lambda _type, data: self.shown.append(data),
            metrics=self.metrics,
            turn_age_ms=lambda: 740,
        )

    async def think_later(self, _: ThinkerRun) -> Answer:
        """Answers when the test says so."""
        await self.answered.wait()
        return Answer("Old news.", "live")

    async def call(self, domain: str, query: str = "why") -> ThinkerEvent:
        """One tool call, to its end: the one event it came to."""
        return await self.raw(TOOL, json.dumps({"domain": domain, "query": query}))

    async def raw(self, name: str, arguments: str) -> ThinkerEvent:
        """The same with whatever the model wrote."""
        before = len(self.told)
        self.desk.run(f"c{before}", name, arguments)
        await settle()
        [event] = self.told[before:]
        return event

    def counted(self, domain: str, outcome: str) -> float:
        """How often a Thinker's work was counted as ended so."""
        labels = {"domain": domain, "outcome": outcome}
        return self.metrics.registry.get_sample_value("voice_thinker_seconds_count", labels) or 0


async def test_an_answer_is_told_once_with_its_source_and_citations() -> None:
    office = Office()
    event = await office.call("good", "why is the sky blue")
    assert isinstance(event, ThinkerFinished)
    output = json.loads(event.output)
    assert output == {
        "domain": "good",
        "answer": "About why is the sky blue.",
        "source": "live",
        "citations": ["a book"],
    }


async def test_the_page_can_place_a_question_and_its_tools_in_the_turn() -> None:
    office = Office()
    await office.call("steps")
    assert {(shown["turn"], shown["into_turn_ms"]) for shown in office.shown} == {(1, 740)}
    tools = [(shown["tool"], shown.get("detail")) for shown in office.shown if "tool" in shown]
    assert tools == [
        ({"id": "t1", "name": "atlas", "event": "started"}, None),
        ({"id": "t1", "name": "atlas", "event": "finished"}, None),
    ]


async def test_the_page_sees_the_way_of_a_question() -> None:
    office = Office()
    await office.call("steps", "why")
    office.shown.append(office.desk.settled("c0", "complete"))
    assert [data["event"] for data in office.shown] == [
        "routed",
        "working",
        "working",
        "working",
        "working",
        "complete",
    ]
    assert office.shown[2]["detail"] == "looking it up"
    last = office.shown[-1]
    assert (last["call_id"], last["domain"], last["label"], last["query"]) == ("c0", "steps", "Steps", "why")
    assert last["source"] == "cache" and last["elapsed_ms"] >= 0


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
async def test_a_call_that_makes_no_sense_fails_with_a_word_the_model_can_act_on(name: str, arguments: str) -> None:
    office = Office()
    event = await office.raw(name, arguments)
    assert isinstance(event, ThinkerFailed) and event.reason
    shown = office.desk.settled("c0", "failed")
    assert shown["error"] == event.reason and len(shown["label"]) <= 64
    assert office.shown == [], "a call that was never routed must not be shown as routed"


async def test_a_thinker_without_an_answer_fails_in_its_own_words() -> None:
    event = await Office().call("empty")
    assert event == ThinkerFailed("c0", "Nobody knows.")


async def test_a_thinker_that_breaks_fails_without_giving_anything_away(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        event = await Office().call("broken")
    assert isinstance(event, ThinkerFailed)
    assert "secret" not in event.reason and "secret" not in caplog.text


async def test_a_cancelled_call_is_stopped_told_to_nobody_and_counted() -> None:
    office = Office()
    office.desk.run("c0", TOOL, '{"domain": "slow", "query": "why"}')
    await settle()
    assert "1 at work" in repr(office.desk)
    office.desk.cancel("c0")
    office.desk.cancel("never heard of")
    await settle()
    assert office.told == [] and "0 at work" in repr(office.desk)
    assert office.counted("slow", "cancelled") == 1


async def test_too_many_at_once_are_refused_and_the_page_is_told_why() -> None:
    office = Office()
    for number in range(CALL_LIMIT):
        office.desk.run(f"slow{number}", TOOL, '{"domain": "slow", "query": "why"}')
    event = await office.call("good")
    assert isinstance(event, ThinkerFailed) and "Too many" in event.reason
    assert office.desk.settled("c0", "failed")["error"] == event.reason
    await office.desk.close()
    assert isinstance(await office.call("good"), ThinkerFinished)


async def test_an_outcome_is_counted_once_though_the_answer_goes_stale_later() -> None:
    office = Office()
    await office.call("good")
    office.desk.settled("c0", "complete")
    office.desk.settled("c0", "stale")
    assert (office.counted("good", "complete"), office.counted("good", "stale")) == (1, 0)


@pytest.mark.parametrize(
    ("domain", "moved_on", "wanted"),
    [
        ("passing", False, True),
        ("passing", True, False),
        ("lasting", True, True),
    ],
)
async def test_a_late_answer_that_is_to_be_dropped_is_answered_without_its_content(
    domain: str, moved_on: bool, wanted: bool
) -> None:
    office = Office()
    office.desk.run("c0", TOOL, json.dumps({"domain": domain, "query": "why"}))
    await settle()
    office.turn += moved_on
    office.answered.set()
    await settle()
    [event] = office.told
    assert isinstance(event, ThinkerFinished) and json.loads(event.output)["domain"] == domain
    assert ("Old news." in event.output) is wanted
    assert ("no longer wanted" in event.output) is not wanted


async def test_the_filler_is_that_of_the_thinker_at_work() -> None:
    office = Office()
    assert office.desk.filler() == ""
    office.desk.run("c0", TOOL, '{"domain": "passing", "query": "why"}')
    await settle()
    assert office.desk.filler() == "Nearly there."
    office.desk.run("c1", TOOL, '{"domain": "slow", "query": "why"}')
    await settle()
    assert office.desk.filler() == "", "a newer question is not filled with an older one's words"
    office.desk.cancel("c1")
    await settle()
    assert office.desk.filler() == "Nearly there."
    await office.desk.close()


async def test_old_work_is_forgotten_and_still_has_a_page_event() -> None:
    office = Office()
    for _ in range(WORK_KEPT + 1):
        await office.call("good")
    assert office.desk.settled("c0", "stale") == {"call_id": "c0", "event": "stale"}
    assert office.desk.settled("c1", "stale")["domain"] == "good"


async def test_closing_stops_everything() -> None:
    office = Office()
    for number in range(3):
        office.desk.run(f"c{number}", TOOL, '{"domain": "slow", "query": "why"}')
    await settle()
    await office.desk.close()
    assert office.told == [] and office.counted("slow", "cancelled") == 3


async def test_closing_does_not_wait_for_a_thinker_that_will_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "STOP_WITHIN_S", 0.02)
    let_go = asyncio.Event()

    async def deaf(_: ThinkerRun) -> Answer:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return Answer("At last.", "model")

    office = Office()
    office.desk = Desk(
        thinkers(deaf=deaf),
        session_id="s1",
        user_id="ada",
        conversation_id="c1",
        turn=lambda: 1,
        tell=office.told.append,
        publish=lambda *_: None,
        metrics=office.metrics,
    )
    office.desk.run("c0", TOOL, '{"domain": "deaf", "query": "why"}')
    await settle()
    async with asyncio.timeout(1):
        await office.desk.close()
    let_go.set()
    await settle()
