"""A call's long work goes on without it: on request, after its deadline, or after the caller hangs up."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.call.call_ledger import CallLedger
from backend.call.tool_calls import CallView, ThinkerEvent, ToolCallDispatcher
from backend.errors import MemoryUnavailable
from backend.observability.call_metrics import CallMetrics
from backend.page_events import ThinkerChanged
from backend.sessions.session import Session, SessionRequest
from backend.storage.outbox import Outbox
from backend.tasks.handoff import BackgroundHandoff
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import Task
from backend.testing.memory import FakeMemory
from backend.thinkers.base import Answer, Question
from backend.thinkers.dispatcher import GOES_ON, STARTED
from backend.thinkers.run import ThinkerRun
from backend.turns.commands import RunThinker
from backend.turns.events import ThinkerFailed, ThinkerFinished
from tests.call.world import settle, think_at_once, thinkers
from tests.support.tasks import add_to_stream


async def plans_and_waits(run: ThinkerRun) -> Answer:
    await run.checkpoints.save("plan", ["the web"])
    await asyncio.Event().wait()
    raise AssertionError


@dataclass
class OneCall:
    """The tool calls of one voice call, with background tasks behind them."""

    user_id: str = "ana"
    outcomes: list[ThinkerEvent] = field(default_factory=list)
    shown: list[ThinkerChanged] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.repository = TaskRepository(FakeAsyncRedis(), add_to_stream)
        self.service = TaskService(self.repository, kinds={"research", "slow"})
        self.outbox = Outbox(FakeMemory())
        self.handoff = BackgroundHandoff(self.service, self.outbox.enqueue)
        self.thinkers = thinkers(
            research=(plans_and_waits, {"background": True}),
            slow=(plans_and_waits, {"background": True, "deadline_s": 0.05}),
            quick=(plans_and_waits, {"deadline_s": 0.05}),
            weather=think_at_once,
        )
        view = CallView(
            question=lambda *_: Question("", "", "s1", self.user_id, conversation_id="c1"),
            dispatch=self.outcomes.append,
            publish=self.shown.append,
            ledger=CallLedger(None, Session(SessionRequest("ada", "c1"), "fake"), lambda: ""),
        )
        self.calls = ToolCallDispatcher(self.thinkers.with_handoff(self.handoff), view, CallMetrics())

    def ask(self, domain: str, **more: Any) -> None:
        arguments = json.dumps({"domain": domain, "query": "Why is the sky blue?", **more})
        self.calls.run(RunThinker(f"call-{domain}", "route_to_thinker", arguments))

    async def event(self) -> ThinkerEvent:
        async with asyncio.timeout(10):
            while not self.outcomes:  # noqa: ASYNC110 - the outcome goes to a plain function
                await asyncio.sleep(0.01)
        return self.outcomes[0]

    async def tasks(self) -> list[Task]:
        await self.outbox.settle()
        return await self.service.list("ana")


async def test_background_work_starts_as_a_task_and_the_caller_hears_so_immediately() -> None:
    call = OneCall()
    call.ask("research", background=True)
    event = await call.event()
    assert isinstance(event, ThinkerFinished)
    [task] = await call.tasks()
    output = json.loads(event.output)
    assert (output["answer"], output["task_id"]) == (STARTED, task.id)
    assert (task.kind, task.instruction, task.conversation_id) == ("research", "Why is the sky blue?", "c1")
    work = call.calls.settled(ThinkerChanged("call-research", "complete")).work
    assert work and work.task_id == task.id


async def test_work_past_its_deadline_goes_on_from_its_finished_steps() -> None:
    call = OneCall()
    call.ask("slow")
    event = await call.event()
    assert isinstance(event, ThinkerFinished)
    assert json.loads(event.output)["answer"] == GOES_ON
    [task] = await call.tasks()
    assert await call.repository.steps(task.id) == {"plan": ["the web"]}


@pytest.mark.parametrize(
    ("before", "go_on", "goes_on"),
    [((), True, True), (("cancel",), True, True), ((), False, False), (("dismiss", "cancel"), True, False)],
    ids=["hung up", "cancelled by the end", "to be forgotten", "dismissed"],
)
async def test_work_goes_on_from_its_finished_steps_when_its_caller_hangs_up(
    before: Sequence[str], go_on: bool, goes_on: bool
) -> None:
    call = OneCall()
    call.ask("research")
    await settle()
    for act in before:
        getattr(call.calls, act)("call-research")
        await settle()
    await call.calls.close(go_on=go_on)
    tasks = await call.tasks()
    assert len(tasks) == goes_on
    for task in tasks:
        assert await call.repository.steps(task.id) == {"plan": ["the web"]}


async def test_work_of_a_caller_who_hung_up_is_not_lost_when_redis_misses_the_first_try() -> None:
    call, tries = OneCall(), list[str]()
    create = call.service.create

    async def away_once(*arguments: Any, **options: Any) -> Task:
        tries.append("create")
        if len(tries) == 1:
            raise MemoryUnavailable("Redis does not answer.")
        return await create(*arguments, **options)

    call.service.create = away_once  # type: ignore[method-assign]
    call.ask("research")
    await settle()
    await call.calls.close(go_on=True)
    assert len(await call.tasks()) == 1 and len(tries) == 2


async def test_work_of_other_thinkers_stays_with_its_call() -> None:
    call = OneCall()
    call.ask("quick")
    assert isinstance(await call.event(), ThinkerFailed)
    call.ask("weather", background=True)
    await settle()
    assert "About Why" in getattr(call.outcomes[-1], "output", "")
    assert await call.tasks() == []


async def test_an_unknown_caller_waits_for_the_answer() -> None:
    call = OneCall(user_id="")
    call.ask("slow", background=True)
    assert isinstance(await call.event(), ThinkerFailed)


async def test_work_that_cannot_be_handed_over_fails_with_an_answer() -> None:
    call = OneCall()

    async def gone(*_: Any, **__: Any) -> Task:
        raise TimeoutError

    call.service.create = gone  # type: ignore[method-assign]
    call.ask("research", background=True)
    event = await call.event()
    assert isinstance(event, ThinkerFailed)
    assert "could not be started" in event.reason
