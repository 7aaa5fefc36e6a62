"""The page is shown the changes of tasks, whatever process works on them, and only in their owner's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from backend.citations import Citation
from backend.page_events import TaskChanged, TaskFindings
from backend.storage.client import connect
from backend.storage.pubsub import PubSub
from backend.tasks import broadcaster
from backend.tasks.broadcaster import TaskBroadcaster, TaskMetrics
from backend.tasks.repository import EVENTS, TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.tasks import add_to_stream, begun
from tests.support.waiting import until


@dataclass
class Rig:
    """A process that works on tasks, and another that shows its pages their changes."""

    server: RedisProcess
    repository: TaskRepository
    service: TaskService
    pubsub: PubSub
    registry: CollectorRegistry
    shown: list[tuple[str, TaskChanged]] = field(default_factory=list)

    def events(self) -> list[str]:
        return [event.event for _, event in self.shown]

    def metrics(self) -> str:
        return generate_latest(self.registry).decode()


@asynccontextmanager
async def rig(*here: str) -> AsyncIterator[Rig]:
    """`here` are the owners who have a live session."""
    with running_redis() as server:
        redis, ours, waiting = connect(server.url), connect(server.url), connect(server.url, waiting=True)
        repository, registry = TaskRepository(redis, add_to_stream), CollectorRegistry()
        shown: list[tuple[str, TaskChanged]] = []
        metrics = TaskMetrics()
        metrics.show_in(registry)
        pubsub = PubSub(ours, waiting)
        shows = TaskBroadcaster(
            TaskRepository(ours, add_to_stream),
            metrics,
            is_here=lambda owner: owner in here,
            publish=lambda owner, event: shown.append((owner, event)),
        )
        pubsub.subscribe(EVENTS, shows.on_message)
        pubsub.start()
        running = asyncio.create_task(shows.run())
        try:
            assert await pubsub.wait_until_open(5.0)
            yield Rig(server, repository, TaskService(repository, kinds={"research"}), pubsub, registry, shown)
        finally:
            running.cancel()
            await pubsub.close()
            await asyncio.wait([running])
            for client in (redis, ours, waiting):
                await client.aclose()


async def test_an_owner_with_a_session_here_is_shown_every_change() -> None:
    async with rig("ana") as at:
        task = await begun(at.repository, (await at.service.create("ana", "research", "Why?")).id)
        await at.repository.report_progress(task, "searching")
        await at.repository.finish(task, TaskResult("Because.", "live", (Citation("A book"),)))
        await until(lambda: len(at.shown) == 4)
        assert at.events() == ["queued", "running", "progress", "done"]
        assert {owner for owner, _ in at.shown} == {"ana"}
        assert at.shown[2][1] == TaskChanged(task.id, "progress", "research", "Why?", "searching")
        assert at.shown[3][1].result == TaskFindings("Because.", "live", (Citation("A book"),))


async def test_nobody_is_shown_the_tasks_of_others() -> None:
    async with rig("ana") as at:
        await at.service.create("ben", "research", "Why?")
        await at.service.create("ana", "research", "Why?")
        await until(lambda: bool(at.shown))
        assert {owner for owner, _ in at.shown} == {"ana"}


async def test_the_metrics_are_those_of_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcaster, "REFRESH_S", 0.05)
    async with rig() as at:
        running = await begun(at.repository, (await at.service.create("ana", "research", "Why?")).id)
        await at.service.create("ana", "research", "And why not?")
        await at.repository.fail(running, "no answer", retry=True)
        wanted = (
            'voice_task_events_total{event="queued"} 2.0',
            'voice_task_events_total{event="retrying"} 1.0',
            "voice_tasks_waiting 1.0",
        )
        await until(lambda: all(line in at.metrics() for line in wanted), 5.0)
