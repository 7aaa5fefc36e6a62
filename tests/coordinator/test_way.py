"""The way of a digest: from an entry in a user's channel to the decision carried out, over a real Redis."""

from __future__ import annotations

import asyncio
from typing import Any

from backend.coordinator.coordinator import Coordinator, Decision
from backend.coordinator.store import CaptureFeedback, Channels, CoordinatorState, CreateTask, SummarizeTaskResult
from backend.page_events import DecisionMade
from backend.storage.client import connect
from backend.tasks.task import Task
from tests.coordinator.world import FakeNotifier, FakeTasks, ScriptedDecider, World, options
from tests.support.crashing import Countdown
from tests.support.redis_server import running_redis
from tests.support.waiting import until
from tests.support.ways import documented, files_passed

DECISION = Decision(
    "Bees dance.",
    (
        CreateTask("research", "Find out how ants sleep."),
        SummarizeTaskResult("t1", "They dance."),
        CaptureFeedback("praise", "likes bees"),
    ),
)


class RecordedTasks(FakeTasks):
    """The tasks, where a way of their own begins: one has ended, and what is created is noted."""

    def __init__(self, ended: Task) -> None:
        self.ended = ended
        self.created: list[str] = []

    async def get(self, owner: str, task_id: str) -> Task | None:
        return self.ended

    async def list(self, owner: str, limit: int = 20) -> list[Task]:
        return [self.ended]

    async def create(self, owner: str, kind: str, instruction: str, *_: Any, **__: Any) -> Task:
        self.created.append(instruction)
        return self.ended


async def test_a_digest_passes_the_documented_files() -> None:
    world, fate, shown = World(), Countdown(), list[DecisionMade]()

    async def is_listening(user_id: str) -> bool:
        return True

    async def publish(user_id: str, event: Any) -> None:
        shown.append(event)

    with running_redis() as server:
        redis = connect(server.url)
        channels, state, decider = Channels(redis), CoordinatorState(redis), ScriptedDecider(fate, DECISION)
        tasks, notifier = RecordedTasks(world.ended(1)), FakeNotifier(world, fate)
        coordinator = Coordinator(
            channels, state, tasks, decider.decide, notifier.notify, is_listening, publish, options()
        )
        with files_passed() as passed:
            pipe = redis.pipeline(transaction=True)
            channels.add_result(pipe, tasks.ended)
            await pipe.execute()
            running = asyncio.create_task(coordinator.run())
            await until(lambda: bool(shown) and not coordinator.working)
            running.cancel()
            await asyncio.wait([running])
        assert [notice.text for notice in world.notified.values()] == ["Bees dance."] and await channels.users() == []
        assert tasks.created == ["Find out how ants sleep."]
        await redis.aclose()
    way = documented("digest")
    assert passed == set(way), "the list in docs/architecture.md and the code disagree"
    assert len(way) <= 5
