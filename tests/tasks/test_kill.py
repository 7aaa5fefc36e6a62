"""Workers and servers as real processes, killed with `kill -9` at work: nothing is lost, no result delivered twice."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from backend.coordinator.store import Channels
from backend.storage.client import connect
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import Task, TaskState
from backend.testing.services.server import ApiServer, serving
from tests.support.redis_server import running_redis
from tests.support.research_mind import REPORT, ResearchMind
from tests.support.tasks import add_to_stream
from tests.support.waiting import until

COMMAND = Path(sys.executable).parent / "responder-thinker"
READY_WITHIN_S = 40.0
LEASE_S = 1.0


class Process:
    """`responder-thinker …`, ended by its pid however the test ends."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self.url = url

    async def kill(self) -> None:
        """`kill -9`."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def stop(self) -> int:
        """As an operator would; its exit status."""
        self._process.terminate()
        async with asyncio.timeout(15):
            return await self._process.wait()


@asynccontextmanager
async def process(*arguments: str, model: ApiServer, **settings: str) -> AsyncIterator[Process]:
    """Started, and ready to work."""
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "200", "OPENAI_API_KEY": "k"}
    environment |= {"OPENAI_BASE_URL": f"{model.url}/v1", "BACKGROUND__LEASE_S": str(LEASE_S), "SESSION_CAP": "0"}
    with tempfile.TemporaryDirectory(prefix="app-", dir="/tmp") as home:
        started = await asyncio.create_subprocess_exec(
            str(COMMAND),
            *arguments,
            cwd=home,
            env=environment | {"HOME": home, "DATA_DIR": f"{home}/var"} | settings,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        running = Process(started, await _ready(started))
        try:
            yield running
        finally:
            await running.kill()


async def _ready(started: asyncio.subprocess.Process) -> str:
    assert started.stdout is not None
    url = ""
    async with asyncio.timeout(READY_WITHIN_S):
        while line := (await started.stdout.readline()).decode():
            if "http://localhost:" in line:
                url = "http://127.0.0.1:" + line.strip().rpartition(":")[2]
            if "Ctrl-C" in line:
                return url
    raise AssertionError("the process did not start")


def worker(model: ApiServer, **settings: str) -> Any:
    return process("worker", model=model, **settings)


async def test_a_killed_workers_task_is_finished_by_another_and_delivered_once() -> None:
    model = ResearchMind(holds="gaps")
    async with shared_redis() as shared, serving(model) as api:
        service, repository = shared.service, shared.repository
        async with worker(api, REDIS_URL=shared.url) as first:
            task = await service.create("ana", "research", "How do cities cut their traffic?")
            await until(lambda: model.asked == ["plan", "gaps"], 20.0)
            async with worker(api, REDIS_URL=shared.url) as second:
                model.holds = ""
                await first.kill()
                await until(lambda: shared.is_over(task), 3 * LEASE_S + 10)
                ended = await repository.find(task.id)
                assert ended is not None
                assert (ended.state, ended.run, ended.setbacks.deaths) == (TaskState.DONE, 2, 1)
                assert REPORT in ended.result
                assert model.asked == ["plan", "gaps", "gaps", "report"]  # what was planned and found stays so
                assert await shared.results() == 1

                model.holds = "plan"
                other = await service.create("ana", "research", "And how do towns?")
                await until(lambda: model.asked[-1] == "plan", 5.0)
                api.hung_up.clear()
                async with asyncio.timeout(1.0):  # canceled here, stopped there
                    assert await service.cancel("ana", other.id) == "canceled"
                    await api.hung_up.wait()

                last = await service.create("ana", "research", "And how do villages?")
                await until(lambda: model.asked.count("plan") == 3, 5.0)
                assert await second.stop() == 0  # ended in order, it hands back what it has
                back = await repository.find(last.id)
                assert back is not None
                assert (back.state, back.setbacks.deaths) == (TaskState.QUEUED, 0)
        assert await shared.results() == 1


@dataclass
class Shared:
    """A Redis that several processes share, seen from this one, which is as good as a server."""

    url: str
    redis: Redis
    repository: TaskRepository
    service: TaskService

    async def is_over(self, task: Task) -> bool:
        found = await self.repository.find(task.id)
        return found is not None and not found.open

    async def results(self) -> int:
        """Of ana's tasks, waiting in her channel: no server is there to think about them."""
        return len(await Channels(self.redis).waiting("ana"))


@asynccontextmanager
async def shared_redis() -> AsyncIterator[Shared]:
    with running_redis() as running:
        redis = connect(running.url)
        repository = TaskRepository(redis, add_to_stream)
        try:
            yield Shared(running.url, redis, repository, TaskService(repository, kinds={"research"}))
        finally:
            await redis.aclose()
