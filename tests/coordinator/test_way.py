"""The way of a digest: from an entry in a user's channel to the decision that is carried out."""

import asyncio
from typing import Any

from backend.coordinator.coordinator import Decision
from backend.coordinator.store import CaptureFeedback, CreateTask, SummarizeTaskResult
from backend.tasks.task import Task
from tests.coordinator.world import FakeTasks, Process, World
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
    """Tasks of which one has ended; the way of a digest ends where it creates one."""

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
    world = World(listens=True)
    async with Process(world, "one", decision=DECISION) as one:
        tasks = one.coordinator.tasks = RecordedTasks(world.ended(1))
        with files_passed() as passed:
            await one.end(tasks.ended)
            world.now += 1
            running = asyncio.create_task(one.coordinator.run())
            await until(lambda: bool(world.shown) and not one.coordinator.working)
            running.cancel()
            await asyncio.wait([running])
        assert [notice.text for notice in world.notified.values()] == [
            "Bees dance."
        ] and await one.channels.users() == []
        assert tasks.created == ["Find out how ants sleep."]
    way = documented("digest")
    assert passed == set(way), "docs/architecture.md lists other files"
    assert len(way) <= 5
