"""Workers on a real Redis: what they run, how they stop, and what happens to unfinished tasks."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from redis.asyncio import Redis

from backend.citations import Citation
from backend.errors import BadRequest, MemoryUnavailable, NoAnswer
from backend.settings.tasks import BackgroundSettings
from backend.storage.client import connect
from backend.tasks import task as tasks
from backend.tasks import worker as module
from backend.tasks.repository import QUEUE, TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import Task, TaskResult, TaskState
from backend.tasks.worker import TaskRun, TaskWork, Worker
from tests.support.redis_server import running_redis
from tests.support.tasks import RESULTS, add_to_stream
from tests.support.waiting import until

LEASE_S = 2.0
CHECK_S = 0.05
QUICK = BackgroundSettings.model_validate({"lease_s": LEASE_S})
RETRY_AFTER_S = 0.3


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "RETRY_AFTER_S", RETRY_AFTER_S)
    monkeypatch.setattr(module, "POLL_S", 0.05)


@dataclass
class Rig:
    """A service, and a worker beside it."""

    redis: Redis
    repository: TaskRepository
    service: TaskService
    worker: Worker
    begun: list[str] = field(default_factory=list)

    async def becomes(self, task: Task, state: TaskState, within_s: float = 20.0) -> Task:
        """Wait until the task is in that state."""
        latest = task

        async def looks() -> bool:
            nonlocal latest
            with contextlib.suppress(MemoryUnavailable):
                latest = await self.repository.find(task.id) or latest
            return latest.state is state

        deadline = time.monotonic() + within_s
        while not await looks():
            assert time.monotonic() < deadline, f"{latest!r} is not {state}"
            await asyncio.sleep(0.01)
        return latest

    async def results(self) -> int:
        return int(await self.redis.xlen(RESULTS))


@asynccontextmanager
async def rigged(redis: Redis, work: TaskWork, settings: BackgroundSettings = QUICK) -> AsyncIterator[Rig]:
    repository = TaskRepository(redis, add_to_stream, lease_s=settings.lease_s)
    worker = Worker(repository, work, settings, check_s=CHECK_S)
    async with worker.working():
        yield Rig(redis, repository, TaskService(repository, kinds={"research"}), worker)


async def at_once(run: TaskRun) -> TaskResult:
    return TaskResult(f"About {run.task.instruction}", "live", (Citation("A source"),))


async def forever(run: TaskRun) -> TaskResult:
    run.progress("thinking")
    await asyncio.sleep(3600)
    raise AssertionError


@pytest.mark.document("003", "worker")
async def test_a_task_is_run_and_has_one_result(redis: Redis) -> None:
    async with rigged(redis, at_once) as rig:
        task = await rig.service.create("ana", "research", "the sky")
        ended = await rig.becomes(task, TaskState.DONE)
        assert (ended.result, ended.citations, ended.run) == ("About the sky", (Citation("A source"),), 1)
        assert await rig.results() == 1


@pytest.mark.document("003", "worker")
async def test_a_running_task_stops_soon_after_it_is_canceled(redis: Redis) -> None:
    stopped = asyncio.Event()

    async def work(run: TaskRun) -> TaskResult:
        try:
            return await forever(run)
        finally:
            stopped.set()

    async with rigged(redis, work) as rig:
        task = await rig.service.create("ana", "research", "the sky")
        await rig.becomes(task, TaskState.RUNNING)
        async with asyncio.timeout(10):
            assert await rig.service.cancel("ana", task.id) == "canceled"
            await stopped.wait()
        await until(lambda: rig.worker.running == 0)
        assert await rig.results() == 0


async def test_a_failed_task_is_tried_again_once_after_its_pause(redis: Redis) -> None:
    begun: list[float] = []

    async def work(run: TaskRun) -> TaskResult:
        begun.append(time.monotonic())
        raise NoAnswer("The model cannot be reached.")

    async with rigged(redis, work) as rig:
        task = await rig.service.create("ana", "research", "the sky")
        ended = await rig.becomes(task, TaskState.FAILED)
        assert (ended.error, ended.run) == ("The model cannot be reached.", 2)
        assert begun[1] - begun[0] >= RETRY_AFTER_S
        assert await rig.results() == 1


async def test_a_retry_continues_after_the_finished_steps(redis: Redis) -> None:
    done: list[str] = []

    async def work(run: TaskRun) -> TaskResult:
        for step in ("plan", "search", "write"):
            if run.load(step) is None:
                if step == "search" and "broken" not in done:
                    done.append("broken")
                    raise NoAnswer("not now")
                done.append(step)
                await run.save(step, {"done": step})
        return TaskResult("Done.", "live")

    async with rigged(redis, work) as rig:
        await rig.becomes(await rig.service.create("ana", "research", "the sky"), TaskState.DONE)
    assert done == ["plan", "broken", "search", "write"]


async def test_progress_that_redis_missed_is_written_the_next_time(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = TaskRepository(redis, add_to_stream)
    await TaskService(repository, kinds={"research"}).create("ana", "research", "bees")
    task = await repository.take()
    assert task
    run = TaskRun(task, repository, {})
    run.progress("planning")
    with monkeypatch.context() as away, pytest.raises(MemoryUnavailable):
        away.setattr(repository._client, "_next_try", time.monotonic() + 60)
        await run.save_progress()
    await run.save_progress()
    assert [each.detail for each in await repository.progress(task.id)] == ["", "", "planning"]


async def test_a_permanent_error_is_not_tried_again(redis: Redis) -> None:
    async def work(run: TaskRun) -> TaskResult:
        raise BadRequest("There is no such domain.")

    async with rigged(redis, work) as rig:
        ended = await rig.becomes(await rig.service.create("ana", "research", "the sky"), TaskState.FAILED)
        assert ended.run == 1


async def test_a_failure_of_broken_work_hides_the_text_of_the_error(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(run: TaskRun) -> TaskResult:
        raise RuntimeError("the user's own words")

    async with rigged(redis, work) as rig:
        ended = await rig.becomes(await rig.service.create("ana", "research", "the sky"), TaskState.FAILED)
        assert "words" not in ended.error
    assert "own words" not in caplog.text


async def test_a_task_past_its_soft_limit_is_hurried_and_past_its_hard_limit_stopped(redis: Redis) -> None:
    async def hurries(run: TaskRun) -> TaskResult:
        await until(lambda: run.hurried)
        return TaskResult("What there is.", "live")

    patient = QUICK.model_copy(update={"hard_limit_s": 2.0})
    async with rigged(redis, hurries, patient) as rig:
        ended = await rig.becomes(await rig.service.create("ana", "research", "the sky"), TaskState.DONE)
        assert ended.result == "What there is."
    short = QUICK.model_copy(update={"hard_limit_s": 0.5})
    async with rigged(redis, forever, short) as rig:
        ended = await rig.becomes(await rig.service.create("ana", "research", "the sea"), TaskState.FAILED)
        assert (ended.error, ended.run) == ("It took longer than 0.5 seconds.", 1)


async def test_the_number_of_parallel_runs_is_limited(redis: Redis) -> None:
    async with rigged(redis, forever, QUICK.model_copy(update={"concurrency": 2})) as rig:
        for number in range(4):
            await rig.service.create("ana", "research", f"question {number}")
        await until(lambda: rig.worker.running == 2)
        await asyncio.sleep(0.3)
        assert rig.worker.running == 2
        assert await rig.redis.zcount(QUEUE, "-inf", time.time()) == 2


async def test_a_worker_that_ends_hands_its_task_to_another_immediately(redis: Redis) -> None:
    async with AsyncExitStack() as stack:
        async with rigged(redis, forever) as first:
            task = await first.service.create("ana", "research", "the sky")
            await first.becomes(task, TaskState.RUNNING)
        back = await TaskRepository(redis, add_to_stream).find(task.id)
        assert back is not None
        assert (back.state, back.setbacks.deaths) == (TaskState.QUEUED, 0)
        second = await stack.enter_async_context(rigged(redis, at_once))
        ended = await second.becomes(task, TaskState.DONE)
        assert (ended.run, ended.setbacks.deaths) == (2, 0)
        assert await second.results() == 1


async def test_many_workers_and_many_tasks_make_one_result_each(redis: Redis) -> None:
    async with rigged(redis, at_once) as one, rigged(redis, at_once) as two:
        tasks = [await rig.service.create("ana", "research", f"q {n}") for n, rig in enumerate([one, two] * 8)]
        for task in tasks:
            assert (await one.becomes(task, TaskState.DONE)).run == 1
        assert await one.results() == len(tasks)


async def test_a_task_survives_a_short_outage_of_redis() -> None:
    go = asyncio.Event()

    async def work(run: TaskRun) -> TaskResult:
        await go.wait()
        return TaskResult("Done.", "live")

    with running_redis() as server:
        redis = connect(server.url)
        short_lease = QUICK.model_copy(update={"lease_s": 0.6})
        async with rigged(redis, work, short_lease) as rig:
            task = await rig.service.create("ana", "research", "the sky")
            await rig.becomes(task, TaskState.RUNNING)
            server.freeze()
            go.set()
            await asyncio.sleep(1.5)
            server.thaw()
            await rig.becomes(task, TaskState.DONE, within_s=20.0)
            assert await rig.results() == 1
        await redis.aclose()


async def test_a_worker_goes_on_after_redis_came_back_empty() -> None:
    with running_redis() as server:
        redis = connect(server.url)
        async with rigged(redis, at_once) as rig:
            await rig.becomes(await rig.service.create("ana", "research", "the sky"), TaskState.DONE)
            server.kill()
            await asyncio.sleep(0.3)
            server.start()
            await asyncio.sleep(1.1)  # the guard's breaker rests for a second
            task = await rig.service.create("ana", "research", "the sea")
            await rig.becomes(task, TaskState.DONE, within_s=20.0)
        await redis.aclose()
