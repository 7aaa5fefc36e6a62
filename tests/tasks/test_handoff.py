"""A call's long work goes on without it: asked for so, after its deadline, and when its caller hangs up."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from fakeredis import FakeAsyncRedis

from backend.call.tool_calls import Desk, ThinkerEvent
from backend.conversation.events import ThinkerFailed, ThinkerFinished
from backend.observability.call_metrics import Metrics
from backend.tasks.handoff import GOES_ON, STARTED, BackgroundHandoff
from backend.tasks.queue import FakeQueue
from backend.tasks.repository import Records
from backend.tasks.service import Board
from backend.tasks.task import Task
from backend.thinkers.base import Answer
from backend.thinkers.run import ThinkerRun
from demo.offline.demonstration.intents import Question as Wish
from demo.offline.demonstration.routing import routing_of
from tests.call.world import settle, think_at_once, thinkers


async def plans_and_waits(run: ThinkerRun) -> Answer:
    await run.steps.keep("plan", ["the web"])
    await asyncio.Event().wait()
    raise AssertionError


@dataclass
class Office:
    """A desk with a board behind it."""

    user_id: str = "ana"
    told: list[ThinkerEvent] = field(default_factory=list)
    shown: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.records = Records(FakeAsyncRedis())
        self.board = Board(self.records, FakeQueue(), kinds={"research", "slow"})
        self.handover = BackgroundHandoff(self.board)
        self.registry = thinkers(
            research=(plans_and_waits, {"background": True}),
            slow=(plans_and_waits, {"background": True, "deadline_s": 0.05}),
            quick=(plans_and_waits, {"deadline_s": 0.05}),
            weather=think_at_once,
        )
        self.desk = Desk(
            self.registry,
            session_id="s1",
            user_id=self.user_id,
            conversation_id="c1",
            turn=lambda: 1,
            tell=self.told.append,
            publish=lambda _type, data: self.shown.append(data),
            metrics=Metrics(),
            handover=self.handover,
        )

    def ask(self, domain: str, **more: Any) -> None:
        arguments = json.dumps({"domain": domain, "query": "Why is the sky blue?", **more})
        self.desk.run(f"call-{domain}", "route_to_thinker", arguments)

    async def event(self) -> ThinkerEvent:
        async with asyncio.timeout(2):
            while not self.told:  # noqa: ASYNC110 - the desk tells a plain function
                await asyncio.sleep(0.01)
        return self.told[0]

    async def tasks(self) -> list[Task]:
        await self.handover.close()
        return await self.board.list("ana")


async def test_work_asked_for_in_the_background_is_begun_there_and_said_so_at_once() -> None:
    office = Office()
    office.ask("research", background=True)
    event = await office.event()
    assert isinstance(event, ThinkerFinished)
    [task] = await office.tasks()
    output = json.loads(event.output)
    assert (output["answer"], output["task_id"]) == (STARTED, task.id)
    assert (task.kind, task.instruction, task.conversation_id) == ("research", "Why is the sky blue?", "c1")
    assert office.desk.settled("call-research", "complete")["task_id"] == task.id


async def test_work_that_outlives_its_deadline_goes_on_from_its_steps() -> None:
    office = Office()
    office.ask("slow")
    event = await office.event()
    assert isinstance(event, ThinkerFinished)
    assert json.loads(event.output)["answer"] == GOES_ON
    [task] = await office.tasks()
    assert await office.records.steps(task.id) == {"plan": ["the web"]}


async def test_work_whose_caller_hangs_up_goes_on_from_its_steps() -> None:
    office = Office()
    office.ask("research")
    await settle()
    await office.desk.close(go_on=True)
    [task] = await office.tasks()
    assert await office.records.steps(task.id) == {"plan": ["the web"]}


async def test_work_of_a_caller_who_is_to_be_forgotten_ends_with_the_call() -> None:
    office = Office()
    office.ask("research")
    await settle()
    await office.desk.close()
    assert await office.tasks() == []


async def test_work_that_is_dismissed_is_over() -> None:
    office = Office()
    office.ask("research")
    await settle()
    office.desk.cancel("call-research")
    await settle()
    await office.desk.close(go_on=True)
    assert await office.tasks() == []


async def test_work_of_other_thinkers_stays_with_its_call() -> None:
    office = Office()
    office.ask("quick")
    assert isinstance(await office.event(), ThinkerFailed)
    office.ask("weather", background=True)
    await settle()
    assert "About Why" in getattr(office.told[-1], "output", "")
    assert await office.tasks() == []


async def test_a_stranger_waits_for_the_answer() -> None:
    office = Office(user_id="")
    office.ask("slow", background=True)
    assert isinstance(await office.event(), ThinkerFailed)


async def test_work_that_cannot_be_given_away_fails_in_words() -> None:
    office = Office()

    async def gone(*_: Any, **__: Any) -> Task:
        raise TimeoutError

    office.board.create = gone  # type: ignore[method-assign]
    office.ask("research", background=True)
    event = await office.event()
    assert isinstance(event, ThinkerFailed)
    assert "could not be started" in event.reason


async def test_the_demonstration_says_when_it_is_not_waited_for() -> None:
    routing = routing_of([Office().registry.route_tool()])
    assert routing is not None
    patient = json.loads(routing.arguments(Wish("research", "Research electric cars, and take your time.")))
    assert patient == {"domain": "research", "query": "Research electric cars.", "background": True}
    for words in (
        "Research electric cars and let me know when you're done.",
        "Research electric cars in the background",
    ):
        assert json.loads(routing.arguments(Wish("research", words)))["background"] is True
    for words in ("Research electric cars", "Let me know what the weather is"):
        assert json.loads(routing.arguments(Wish("research", words))) == {"domain": "research", "query": words}
