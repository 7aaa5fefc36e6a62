"""Workers on a real Redis: what they run, how they stop, and what becomes of what they leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from redis.asyncio import Redis

from backend.errors import BadRequest, MemoryUnavailable, NoAnswer
from backend.settings.tasks import BackgroundSettings
from backend.storage.client import connect
from backend.tasks.queue import DocketQueue, _WarnOnceInAWhile, open_queue
from backend.tasks.repository import EVENTS, TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import Task, TaskResult, TaskState
from backend.tasks.worker import TaskRun, TaskWork, Worker
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.tasks import RESULTS, ResultStream
from tests.support.waiting import until

LEASE_S = 0.6
CHECK_S = 0.05
QUICK = BackgroundSettings.model_validate({"lease_s": LEASE_S, "retry_after_s": 0.3})


@pytest.fixture(scope="module")
def server() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@pytest.fixture
async def redis(server: RedisProcess) -> AsyncIterator[Redis]:
    client = connect(server.url)
    await client.flushall()
    yield client
    await client.aclose()


@dataclass
class Bench:
    """A service, and workers beside it."""

    redis: Redis
    repository: TaskRepository
    service: TaskService
    queue: DocketQueue
    worker: Worker
    begun: list[str] = field(default_factory=list)

    async def becomes(self, task: Task, state: TaskState, within_s: float = 5.0) -> Task:
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
async def bench(
    redis: Redis, server: RedisProcess | None, work: TaskWork, settings: BackgroundSettings = QUICK
) -> AsyncIterator[Bench]:
    repository = TaskRepository(redis, ResultStream())
    async with open_queue(server.url if server else None) as queue:
        worker = Worker(queue, repository, work, settings, check_s=CHECK_S)
        async with worker.working():
            yield Bench(redis, repository, TaskService(repository, queue, kinds={"research"}), queue, worker)


async def heard(redis: Redis, event: str) -> None:
    """Until that event of any task has been told."""
    async with redis.pubsub() as ear:
        await ear.subscribe(EVENTS)
        while True:
            message = await ear.get_message(ignore_subscribe_messages=True, timeout=0.5)
            if message and json.loads(message["data"])["event"] == event:
                return


async def at_once(run: TaskRun) -> TaskResult:
    return TaskResult(f"About {run.task.instruction}", "live", ("A source",))


async def forever(run: TaskRun) -> TaskResult:
    run.progress("thinking")
    await asyncio.sleep(3600)
    raise AssertionError


async def test_a_task_is_run_and_its_result_is_one(redis: Redis, server: RedisProcess) -> None:
    async with bench(redis, server, at_once) as desk:
        task = await desk.service.create("ana", "research", "the sky")
        ended = await desk.becomes(task, TaskState.DONE)
        assert (ended.result, ended.citations, ended.run) == ("About the sky", ("A source",), 1)
        assert await desk.results() == 1


async def test_without_a_redis_of_its_own_it_works_in_this_process(redis: Redis) -> None:
    async with bench(redis, None, at_once) as desk:
        task = await desk.service.create("ana", "research", "the sky")
        assert (await desk.becomes(task, TaskState.DONE)).result == "About the sky"


async def test_a_running_task_is_stopped_within_a_second(redis: Redis, server: RedisProcess) -> None:
    stopped = asyncio.Event()

    async def work(run: TaskRun) -> TaskResult:
        try:
            return await forever(run)
        finally:
            stopped.set()

    async with bench(redis, server, work) as desk:
        task = await desk.service.create("ana", "research", "the sky")
        await desk.becomes(task, TaskState.RUNNING)
        async with asyncio.timeout(1.0):
            assert await desk.service.cancel("ana", task.id) == "canceled"
            await stopped.wait()
        await until(lambda: desk.worker._runner.running == 0, 1.0)
        assert await desk.results() == 0


async def test_a_lost_word_of_cancelling_is_found_in_the_record(redis: Redis, server: RedisProcess) -> None:
    async with bench(redis, server, forever) as desk:
        task = await desk.service.create("ana", "research", "the sky")
        await desk.becomes(task, TaskState.RUNNING)
        await desk.repository.cancel(task.id)  # and nobody tells the queue
        await until(lambda: desk.worker._runner.running == 0, 1.0)


async def test_a_failed_task_is_tried_again_once_after_its_pause(redis: Redis, server: RedisProcess) -> None:
    begun: list[float] = []

    async def work(run: TaskRun) -> TaskResult:
        begun.append(time.monotonic())
        raise NoAnswer("The model cannot be reached.")

    async with bench(redis, server, work) as desk:
        task = await desk.service.create("ana", "research", "the sky")
        ended = await desk.becomes(task, TaskState.FAILED)
        assert (ended.error, ended.run) == ("The model cannot be reached.", 2)
        assert begun[1] - begun[0] >= QUICK.retry_after_s
        assert await desk.results() == 1
        assert (await desk.repository.counts())["retrying"] == 1


async def test_a_retry_goes_on_from_the_steps_that_are_done(redis: Redis, server: RedisProcess) -> None:
    done: list[str] = []

    async def work(run: TaskRun) -> TaskResult:
        for step in ("plan", "search", "write"):
            if run.kept(step) is None:
                if step == "search" and "broken" not in done:
                    done.append("broken")
                    raise NoAnswer("not now")
                done.append(step)
                await run.keep(step, {"done": step})
        return TaskResult("Done.", "live")

    async with bench(redis, server, work) as desk:
        await desk.becomes(await desk.service.create("ana", "research", "the sky"), TaskState.DONE)
    assert done == ["plan", "broken", "search", "write"]


async def test_what_will_not_pass_is_not_tried_again(redis: Redis, server: RedisProcess) -> None:
    async def work(run: TaskRun) -> TaskResult:
        raise BadRequest("There is no such domain.")

    async with bench(redis, server, work) as desk:
        ended = await desk.becomes(await desk.service.create("ana", "research", "the sky"), TaskState.FAILED)
        assert ended.run == 1


async def test_broken_work_fails_without_its_text(
    redis: Redis, server: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(run: TaskRun) -> TaskResult:
        raise RuntimeError("the user's own words")

    async with bench(redis, server, work) as desk:
        ended = await desk.becomes(await desk.service.create("ana", "research", "the sky"), TaskState.FAILED)
        assert "words" not in ended.error
    assert "own words" not in caplog.text


async def test_it_is_hurried_first_and_stopped_later(redis: Redis, server: RedisProcess) -> None:
    async def hurries(run: TaskRun) -> TaskResult:
        await until(lambda: run.hurried, 2.0)
        return TaskResult("What there is.", "live")

    settings = QUICK.model_copy(update={"soft_limit_s": 0.2, "hard_limit_s": 0.5})
    async with bench(redis, server, hurries, settings) as desk:
        ended = await desk.becomes(await desk.service.create("ana", "research", "the sky"), TaskState.DONE)
        assert ended.result == "What there is."
    async with bench(redis, server, forever, settings) as desk:
        ended = await desk.becomes(await desk.service.create("ana", "research", "the sea"), TaskState.FAILED)
        assert (ended.error, ended.run) == ("It took longer than 0.5 seconds.", 1)


async def test_so_many_run_at_once_and_no_more(redis: Redis, server: RedisProcess) -> None:
    async with bench(redis, server, forever, QUICK.model_copy(update={"concurrency": 2})) as desk:
        for number in range(4):
            await desk.service.create("ana", "research", f"question {number}")
        await until(lambda: desk.worker._runner.running == 2, 2.0)
        await asyncio.sleep(0.3)
        assert desk.worker._runner.running == 2
        counts = await desk.repository.counts()
        assert (counts["running_now"], counts["queued_now"]) == (2, 2)


async def test_what_it_tells_is_written_down_while_it_works(redis: Redis, server: RedisProcess) -> None:
    async with bench(redis, server, forever) as desk:
        hearing = asyncio.create_task(heard(redis, "progress"))
        task = await desk.service.create("ana", "research", "the sky")
        async with asyncio.timeout(3):
            await hearing
        assert (await desk.repository.find(task.id) or task).progress == "thinking"


async def test_a_worker_that_ends_hands_its_task_to_another_at_once(redis: Redis, server: RedisProcess) -> None:
    async with AsyncExitStack() as stack:
        async with bench(redis, server, forever) as first:
            task = await first.service.create("ana", "research", "the sky")
            await first.becomes(task, TaskState.RUNNING)
        back = await TaskRepository(redis, ResultStream()).find(task.id)
        assert back is not None
        assert (back.state, back.deaths) == (TaskState.QUEUED, 0)
        began = time.monotonic()
        second = await stack.enter_async_context(bench(redis, server, at_once))
        ended = await second.becomes(task, TaskState.DONE)
        assert time.monotonic() - began < LEASE_S
        assert (ended.run, ended.deaths) == (2, 0)
        assert await second.results() == 1


async def test_a_task_that_never_got_into_the_queue_is_found(redis: Redis, server: RedisProcess) -> None:
    async with bench(redis, server, at_once) as desk:
        lost = Task("lost", "ana", "", "research", "the sky", created_at=1.0, changed_at=1.0)
        await desk.repository.create(lost, {})
        await desk.becomes(lost, TaskState.DONE)


async def test_many_workers_and_many_tasks_make_one_result_each(redis: Redis, server: RedisProcess) -> None:
    async with bench(redis, server, at_once) as one, bench(redis, server, at_once) as two:
        tasks = [await desk.service.create("ana", "research", f"q {n}") for n, desk in enumerate([one, two] * 8)]
        for task in tasks:
            assert (await one.becomes(task, TaskState.DONE)).run == 1
        assert await one.results() == len(tasks)


def test_the_librarys_warnings_are_told_once_in_a_while_and_without_tracebacks() -> None:
    calm = _WarnOnceInAWhile()

    def told(level: int, message: str, at: float) -> bool:
        record = logging.LogRecord("docket.worker", level, "", 1, message, (), (ValueError, ValueError("words"), None))
        record.created = at
        passed = bool(calm.filter(record))
        assert level < logging.WARNING or record.exc_info is None
        return passed

    assert told(logging.WARNING, "Redis is unavailable", 100.0)
    assert not told(logging.WARNING, "Redis is unavailable", 101.0)
    assert told(logging.ERROR, "Error sending worker heartbeat", 101.0)
    assert told(logging.WARNING, "Redis is unavailable", 131.0)
    assert told(logging.INFO, "begun", 131.0) and told(logging.INFO, "begun", 131.1)


async def test_a_task_outlives_its_redis_for_a_moment() -> None:
    go = asyncio.Event()

    async def work(run: TaskRun) -> TaskResult:
        await go.wait()
        return TaskResult("Done.", "live")

    with running_redis() as server:
        redis = connect(server.url)
        async with bench(redis, server, work) as desk:
            task = await desk.service.create("ana", "research", "the sky")
            await desk.becomes(task, TaskState.RUNNING)
            server.freeze()
            go.set()
            await asyncio.sleep(1.5)
            server.thaw()
            await desk.becomes(task, TaskState.DONE, within_s=8.0)
            assert await desk.results() == 1
        await redis.aclose()


async def test_a_worker_finds_a_redis_again_that_came_back_empty() -> None:
    with running_redis() as server:
        redis = connect(server.url)
        async with bench(redis, server, at_once) as desk:
            await desk.becomes(await desk.service.create("ana", "research", "the sky"), TaskState.DONE)
            server.kill()
            await asyncio.sleep(0.3)
            server.start()
            await asyncio.sleep(1.1)  # the guard's breaker rests for a second
            task = await desk.service.create("ana", "research", "the sea")
            await desk.becomes(task, TaskState.DONE, within_s=8.0)
        await redis.aclose()
