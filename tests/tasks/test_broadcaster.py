"""The page is told of tasks, whatever process works on them, and only on their owner's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from backend.conversation.page_events import TaskChanged, TaskFindings
from backend.storage.client import connect, connect_waiting
from backend.storage.pubsub import PubSub
from backend.tasks.broadcaster import TaskBroadcaster, TaskMetrics
from backend.tasks.repository import EVENTS, TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.tasks import FakeQueue, ResultStream
from tests.support.waiting import until


class Hands(FakeQueue):
    """A queue with three workers at it."""

    async def workers(self) -> int:
        """See `DocketQueue.workers`."""
        return 3


@dataclass
class Square:
    """A process that does things to tasks, another that has its page told of them."""

    server: RedisProcess
    repository: TaskRepository
    service: TaskService
    pubsub: PubSub
    registry: CollectorRegistry
    told: list[tuple[str, TaskChanged]] = field(default_factory=list)

    def events(self) -> list[str]:
        return [event.event for _, event in self.told]

    def figures(self) -> str:
        return generate_latest(self.registry).decode()


@asynccontextmanager
async def square(*here: str) -> AsyncIterator[Square]:
    """`here` are the owners who have a live session."""
    with running_redis() as server:
        redis, ours, waiting = connect(server.url), connect(server.url), connect_waiting(server.url)
        repository, registry = TaskRepository(redis, ResultStream()), CollectorRegistry()
        told: list[tuple[str, TaskChanged]] = []
        queue: Any = Hands()
        metrics = TaskMetrics(TaskRepository(ours, ResultStream()), queue)
        registry.register(metrics)
        pubsub = PubSub(ours, waiting)
        broadcaster = TaskBroadcaster(
            TaskRepository(ours, ResultStream()),
            metrics,
            is_here=lambda owner: owner in here,
            publish=lambda owner, event: told.append((owner, event)),
        )
        pubsub.subscribe(EVENTS, broadcaster.on_message)
        pubsub.start()
        running = asyncio.create_task(broadcaster.run())
        try:
            assert await pubsub.wait_until_open(5.0)
            yield Square(server, repository, TaskService(repository, queue, kinds={"research"}), pubsub, registry, told)
        finally:
            running.cancel()
            await pubsub.close()
            await asyncio.wait([running])
            for client in (redis, ours, waiting):
                await client.aclose()


async def test_an_owner_who_is_here_is_told_of_every_change() -> None:
    async with square("ana") as at:
        task = await at.repository.begin((await at.service.create("ana", "research", "Why?")).id)
        await at.repository.report_progress(task, "searching")
        await at.repository.finish(task, TaskResult("Because.", "live", ("A book",)))
        await until(lambda: len(at.told) == 4)
        assert at.events() == ["queued", "running", "progress", "done"]
        assert {owner for owner, _ in at.told} == {"ana"}
        assert at.told[2][1] == TaskChanged(task.id, "progress", "research", "Why?", "searching")
        assert at.told[3][1].result == TaskFindings("Because.", "live", ("A book",))


async def test_nobody_is_told_of_somebody_elses() -> None:
    async with square("ana") as at:
        await at.service.create("ben", "research", "Why?")
        await at.service.create("ana", "research", "Why?")
        await until(lambda: bool(at.told))
        assert {owner for owner, _ in at.told} == {"ana"}


async def test_it_listens_again_when_redis_is_back() -> None:
    async with square("ana") as at:
        at.server.kill()
        await until(lambda: not at.pubsub.is_listening)
        at.server.start()
        assert await at.pubsub.wait_until_open(5.0)
        await asyncio.sleep(1.1)  # the others' breakers rest for a second
        await at.service.create("ana", "research", "Why?")
        await until(lambda: at.events() == ["queued"])


async def test_the_figures_are_those_of_all_processes() -> None:
    async with square() as at:
        running = await at.repository.begin((await at.service.create("ana", "research", "Why?")).id)
        await at.service.create("ana", "research", "And why not?")
        await at.repository.fail(running, "no answer", retries=1, retry_after_s=5)
        wanted = (
            'voice_tasks{state="queued"} 2.0',
            'voice_task_events_total{event="retrying"} 1.0',
            "voice_task_workers 3.0",
        )
        await until(lambda: all(line in at.figures() for line in wanted), 5.0)
