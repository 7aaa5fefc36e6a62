"""A coordinator in tests: tasks and notices that outlive its process, and a decider that follows a script."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from fakeredis import FakeServer

from backend.access.principal import PUBLIC, CallerScope
from backend.coordinator.coordinator import Coordinator, Decision, Digest
from backend.coordinator.store import Channels, CoordinatorState
from backend.errors import VoiceError
from backend.notifications.notices import Notice
from backend.page_events import PageEvent
from backend.settings.tasks import CoordinatorSettings
from backend.tasks.service import TaskService
from backend.tasks.task import CancelOutcome, Task, TaskState, normalised
from tests.support.crashing import Countdown, CrashingRedis

USER = "ada"


def options(**chosen: object) -> CoordinatorSettings:
    """Return the default settings of the coordinator, changed by `chosen`."""
    return CoordinatorSettings.model_validate(chosen)


@dataclass
class World:
    """What outlives a process: Redis, tasks and notices. `now` advances a little with every reading."""

    server: FakeServer = field(default_factory=FakeServer)
    tasks: dict[str, Task] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    """The instructions of all new tasks, once each."""
    requests: dict[str, str] = field(default_factory=dict)
    """The ids of all new tasks by the name of their request."""
    canceled: list[str] = field(default_factory=list)
    notified: dict[str, Notice] = field(default_factory=dict)
    shown: list[PageEvent] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """What was done, in order: create, cancel, notify, show."""
    now: float = 1_000.0
    listens: bool = False

    def clock(self) -> float:
        self.now += 0.001
        return self.now

    def ended(self, number: int, result: str = "They dance.") -> Task:
        """Return a task of the user that is done."""
        task = Task(f"t{number}", USER, "", "research", f"bees {number}", 1.0, 1.0, state=TaskState.DONE, result=result)
        self.tasks[task.id] = task
        return task


class FakeTasks(TaskService):
    """Tasks that fold open duplicates and repeated requests as the real service does."""

    def __init__(self, world: World, fate: Countdown) -> None:
        self.world, self.fate = world, fate

    async def create(
        self,
        owner: str,
        kind: str,
        instruction: str,
        conversation_id: str = "",
        *,
        once: str = "",
        scope: CallerScope = PUBLIC,
        **_: Any,
    ) -> Task:
        self.fate()
        world = self.world
        if once in world.requests:
            return world.tasks[world.requests[once]]
        for task in world.tasks.values():
            if task.open and normalised(task.instruction) == normalised(instruction):
                return task
        task = Task(f"new-{len(world.tasks)}", owner, "", kind, instruction, world.clock(), world.now, scope=scope)
        world.tasks[task.id] = task
        world.requests[once or task.id] = task.id
        world.created.append(instruction)
        world.order.append("create")
        self.fate()
        return task

    async def get(self, owner: str, task_id: str) -> Task | None:
        self.fate()
        return self.world.tasks.get(task_id)

    async def cancel(self, owner: str, task_id: str) -> CancelOutcome:
        self.fate()
        task = self.world.tasks.get(task_id)
        if task is None or not task.open:
            return "not_found" if task is None else "already_done"
        self.world.tasks[task_id] = replace(task, state=TaskState.CANCELED)
        self.world.canceled.append(task_id)
        self.world.order.append("cancel")
        self.fate()
        return "canceled"

    async def list(self, owner: str, limit: int = 20) -> list[Task]:
        self.fate()
        return sorted(self.world.tasks.values(), key=lambda task: -task.created_at)[:limit]


@dataclass
class FakeNotifier:
    """Takes each notice once by its id."""

    world: World
    fate: Countdown

    async def notify(self, user_id: str, notice: Notice) -> None:
        self.fate()
        assert self.world.notified.get(notice.id, notice) == notice, "another notice has the same id"
        self.world.notified[notice.id] = notice
        self.world.order.append("notify")
        self.fate()


@dataclass
class ScriptedDecider:
    """Returns or raises `decision`, and keeps each digest."""

    fate: Countdown
    decision: Decision | VoiceError = field(default_factory=lambda: Decision("Bees dance."))
    asked: list[Digest] = field(default_factory=list)

    async def decide(self, digest: Digest) -> Decision:
        self.fate()
        self.asked.append(digest)
        if isinstance(self.decision, VoiceError):
            raise self.decision
        return self.decision


@dataclass
class Process:
    """A process with a coordinator that may die at any await."""

    world: World
    name: str
    dies_after: int | None = None
    decision: Decision | VoiceError = field(default_factory=lambda: Decision("Bees dance."))
    settings: CoordinatorSettings = field(default_factory=lambda: options())

    def __post_init__(self) -> None:
        world = self.world
        self.fate = Countdown(self.dies_after)
        self.redis = CrashingRedis(world.server, self.fate)
        self.channels = Channels(self.redis, clock=world.clock)
        self.state = CoordinatorState(self.redis)
        self.decider = ScriptedDecider(self.fate, self.decision)
        self.coordinator = Coordinator(
            self.channels,
            self.state,
            FakeTasks(world, self.fate),
            self.decider.decide,
            FakeNotifier(world, self.fate).notify,
            self._is_listening,
            self._publish,
            self.settings,
            world.clock,
        )

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.redis.bury()

    async def end(self, task: Task) -> None:
        """End a task as its worker does."""
        pipe = self.redis.pipeline(transaction=True)
        self.channels.add_result(pipe, task)
        await pipe.execute()

    async def _is_listening(self, user_id: str) -> bool:
        return self.world.listens

    async def _publish(self, user_id: str, event: PageEvent) -> None:
        self.fate()
        self.world.shown.append(event)
        self.world.order.append("show")
