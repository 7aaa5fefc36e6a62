"""The page is shown the changes of tasks, whatever process works on them, and only in their owner's sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from backend.citations import Citation
from backend.page_events import TaskChanged, TaskFindings
from backend.runtime.supervisor import supervising
from backend.tasks import broadcaster
from backend.tasks.broadcaster import TaskBroadcaster, TaskMetrics
from backend.tasks.repository import EVENTS, TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult
from tests.support.pubsub import clients
from tests.support.redis_server import RedisProcess
from tests.support.tasks import add_to_stream, begun
from tests.support.waiting import until


@dataclass
class Rig:
    """A process that shows pages the changes of tasks, whoever makes them."""

    repository: TaskRepository
    service: TaskService
    registry: CollectorRegistry
    shown: list[tuple[str, TaskChanged]] = field(default_factory=list)

    def metrics(self) -> str:
        return generate_latest(self.registry).decode()


@asynccontextmanager
async def rig(server: RedisProcess, *here: str) -> AsyncIterator[Rig]:
    """`here` are the owners who have a live session."""
    async with clients(server.url) as (redis, pubsub):
        repository, metrics = TaskRepository(redis, add_to_stream), TaskMetrics()
        at = Rig(repository, TaskService(repository, kinds={"research"}), CollectorRegistry())
        metrics.show_in(at.registry)
        shows = TaskBroadcaster(
            repository, metrics, is_here=here.__contains__, publish=lambda *each: at.shown.append(each)
        )
        pubsub.subscribe(EVENTS, shows.on_message)
        pubsub.start()
        async with supervising("broadcaster", shows.run):
            assert await pubsub.wait_until_open(5.0)
            yield at


@pytest.mark.usefixtures("redis")
async def test_an_owner_with_a_session_here_is_shown_every_change(server: RedisProcess) -> None:
    async with rig(server, "ana") as at:
        task = await begun(at.repository, (await at.service.create("ana", "research", "Why?")).id)
        await at.repository.report_progress(task, "searching")
        await at.repository.finish(task, TaskResult("Because.", "live", (Citation("A book"),)))
        await until(lambda: len(at.shown) == 4)
        assert [event.event for _, event in at.shown] == ["queued", "running", "progress", "done"]
        assert {owner for owner, _ in at.shown} == {"ana"}
        assert at.shown[2][1] == TaskChanged(task.id, "progress", "research", "Why?", "searching")
        assert at.shown[3][1].result == TaskFindings("Because.", "live", (Citation("A book"),))


@pytest.mark.usefixtures("redis")
async def test_no_user_is_shown_the_tasks_of_others(server: RedisProcess) -> None:
    async with rig(server, "ana") as at:
        await at.service.create("ben", "research", "Why?")
        await at.service.create("ana", "research", "Why?")
        await until(lambda: bool(at.shown))
        assert {owner for owner, _ in at.shown} == {"ana"}


@pytest.mark.usefixtures("redis")
async def test_the_metrics_are_those_of_all_processes(server: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcaster, "REFRESH_S", 0.05)
    async with rig(server) as at:
        running = await begun(at.repository, (await at.service.create("ana", "research", "Why?")).id)
        await at.service.create("ana", "research", "And why not?")
        await at.repository.fail(running, "no answer", retry=True)
        wanted = (
            'voice_task_events_total{event="queued"} 2.0',
            'voice_task_events_total{event="retrying"} 1.0',
            "voice_tasks_waiting 1.0",
        )
        await until(lambda: all(line in at.metrics() for line in wanted), 5.0)
