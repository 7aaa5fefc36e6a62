"""How soon a background task runs, and what a worker beside calls costs: `python -m benchmarks.tasks`.

A real redis-server, and a worker in this very event loop, as in `serve`. *create → running* ends when the task's work
begins; *answer → done* when the record says so. *Lag* is how late a 10 ms timer of the loop fires: without a worker,
with an idle one, and while a worker does three tasks at once that tell and keep something fifty times a second.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import quantiles

import uvloop
from redis.asyncio import Redis

from backend.settings.tasks import BackgroundSettings
from backend.storage.client import connect
from backend.tasks.queue import open_queue
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import Task, TaskResult
from backend.tasks.worker import TaskRun, Worker
from tests.support.redis_server import running_redis
from tests.support.tasks import add_to_stream

TASKS = 200
TICK_S = 0.01
LAG_S = 5.0


async def main() -> None:
    """Measure, and print."""
    with running_redis() as server:
        print(f"lag without a worker      {shown(await lag())}")
        async with working(server.url) as (service, _, _):
            print(f"lag with an idle worker   {shown(await lag())}")
        async with working(server.url) as (service, begun, ended):
            print(f"create → running          {shown(await starts(service, begun))}")
            print(f"answer → done             {shown(ended)}")
        async with working(server.url, busy=True) as (service, _, _):
            for number in range(3):
                await service.create("ana", "research", f"busy {number}")
            print(f"lag with three busy tasks {shown(await lag())}")


@asynccontextmanager
async def working(url: str, *, busy: bool = False) -> AsyncIterator[tuple[TaskService, dict[str, float], list[float]]]:
    """A service and a worker; when which instruction was begun, and the times from answers to ends, in seconds."""
    redis, begun, ended = connect(url), dict[str, float](), list[float]()
    repository = Timed(redis, ended)

    async def work(run: TaskRun) -> TaskResult:
        begun[run.task.instruction] = time.perf_counter()
        while busy:
            run.progress("busy")
            await run.save("step", list(range(100)))
            await asyncio.sleep(0.02)
        return TaskResult("Done.", "live")

    settings = BackgroundSettings.model_validate({})
    async with open_queue(url) as queue, Worker(queue, repository, work, settings).working():
        await asyncio.sleep(0.5)
        yield TaskService(repository, queue, kinds={"research"}), begun, ended
    await redis.aclose()


class Timed(TaskRepository):
    """A repository that notes how long the end of a run takes."""

    def __init__(self, redis: Redis, ended: list[float]) -> None:
        super().__init__(redis, add_to_stream)
        self._ended = ended

    async def finish(self, task: Task, result: TaskResult) -> Task:
        """End the run, and note how long that took."""
        began = time.perf_counter()
        finished = await super().finish(task, result)
        self._ended.append(time.perf_counter() - began)
        return finished


async def starts(service: TaskService, begun: dict[str, float]) -> list[float]:
    """Seconds from `create` to the work's first line, one task after another."""
    taken = []
    for number in range(TASKS):
        instruction = f"question {number}"
        asked = time.perf_counter()
        await service.create("ana", "research", instruction)
        while instruction not in begun:  # noqa: ASYNC110 - a finer clock than an event's wake-up is not needed
            await asyncio.sleep(0.0005)
        taken.append(begun[instruction] - asked)
        await asyncio.sleep(0.02)
    return taken


async def lag() -> list[float]:
    """How late a timer fires, in seconds, for five seconds."""
    late, until = [], time.perf_counter() + LAG_S
    while (now := time.perf_counter()) < until:
        await asyncio.sleep(TICK_S)
        late.append(time.perf_counter() - now - TICK_S)
    return late


def shown(seconds: Sequence[float]) -> str:
    """p50, p95, and the worst, in milliseconds."""
    cut = quantiles(seconds, n=20)
    return f"p50 {cut[9] * 1000:5.1f} ms   p95 {cut[18] * 1000:5.1f} ms   worst {max(seconds) * 1000:5.1f} ms"


if __name__ == "__main__":
    uvloop.run(main())
    sys.exit(0)
