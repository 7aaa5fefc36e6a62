"""Owners take turns in the queue, however many tasks one of them has created."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis

from backend.settings.tasks import BackgroundSettings
from backend.tasks.queue import open_queue
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult
from backend.tasks.worker import TaskRun, Worker
from tests.support.redis_server import RedisProcess
from tests.support.tasks import add_to_stream
from tests.support.waiting import until


async def test_a_newcomer_waits_for_two_tasks_of_another_owner_and_not_for_twelve(
    redis: Redis, server: RedisProcess
) -> None:
    done: list[str] = []

    async def work(run: TaskRun) -> TaskResult:
        await asyncio.sleep(0.02)
        done.append(run.task.owner)
        return TaskResult("done", "live")

    repository = TaskRepository(redis, add_to_stream)
    settings = BackgroundSettings.model_validate({"concurrency": 1})
    async with open_queue(server.url) as queue:
        service = TaskService(repository, queue, kinds={"research"}, per_owner=settings.per_user)
        for number in range(12):
            await service.create("greedy", "research", f"number {number}")
        await service.create("newcomer", "research", "only this")
        async with Worker(queue, repository, work, settings).working():
            await until(lambda: len(done) == 13, 20)
    assert done.index("newcomer") <= 3, done


async def test_cancelling_a_task_gives_its_place_to_the_owners_next(redis: Redis, server: RedisProcess) -> None:
    done: list[str] = []

    async def work(run: TaskRun) -> TaskResult:
        done.append(run.task.instruction)
        return TaskResult("done", "live")

    repository = TaskRepository(redis, add_to_stream)
    async with open_queue(server.url) as queue:
        service = TaskService(repository, queue, kinds={"research"}, per_owner=1)
        first = await service.create("user", "research", "first")
        await service.create("user", "research", "second")
        assert await service.cancel("user", first.id) == "canceled"
        settings = BackgroundSettings.model_validate({"per_user": 1})
        async with Worker(queue, repository, work, settings).working():
            await until(lambda: done == ["second"], 10)
