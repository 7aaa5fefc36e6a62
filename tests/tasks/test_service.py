"""The tasks of all users in Redis: their owners, their bounds, and their end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from fakeredis import FakeAsyncRedis
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from backend.citations import Citation
from backend.errors import BadRequest, TooMany
from backend.page_events import TaskChanged, TaskFindings
from backend.storage.client import connect
from backend.tasks.metrics import TaskMetrics
from backend.tasks.repository import EVENTS, PROGRESS_LIMIT, QUEUE, TURNS, TaskRepository, record_key
from backend.tasks.service import TaskService
from backend.tasks.task import OPEN_LIMIT, Superseded, TaskResult, TaskState
from tests.support.redis_server import RedisProcess
from tests.support.tasks import RESULTS, add_to_stream, begun

ANSWER = TaskResult("It is blue.", "live", (Citation("Some source"),))


@pytest.fixture(params=["redis", "fakeredis"])
async def redis(request: pytest.FixtureRequest, server: RedisProcess) -> AsyncIterator[Redis]:
    client = connect(server.url) if request.param == "redis" else FakeAsyncRedis()
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def repository(redis: Redis) -> TaskRepository:
    return TaskRepository(redis, add_to_stream)


@pytest.fixture
def service(repository: TaskRepository) -> TaskService:
    return TaskService(repository, kinds={"research", "medical"})


async def results(redis: Redis) -> list[dict[str, str]]:
    entries: Any = await redis.xrange(RESULTS)
    return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in entries]


async def names(redis: Redis) -> set[str]:
    """All keys in the Redis."""
    found: Any = await redis.keys("*")
    return {name.decode() for name in found}


async def test_a_task_is_queued_and_found_by_its_owner_only(service: TaskService) -> None:
    task = await service.create("ana", "research", " Why is the sky blue? ", "c1")
    assert (task.state, task.instruction, task.conversation_id) == (TaskState.QUEUED, "Why is the sky blue?", "c1")
    assert await service.get("ana", task.id) == task
    assert await service.list("ana") == [task]
    assert await service.get("ben", task.id) is None
    assert await service.list("ben") == []
    assert await service.progress("ben", task.id) is None
    assert await service.cancel("ben", task.id) == "not_found"
    assert await service.get("ana", task.id) == task


async def test_the_newest_task_comes_first(repository: TaskRepository) -> None:
    now = iter(range(100, 200))
    service = TaskService(repository, kinds={"research"}, clock=lambda: next(now))
    for question in ("one", "two", "three"):
        await service.create("ana", "research", question)
    assert [task.instruction for task in await service.list("ana", limit=2)] == ["three", "two"]


@pytest.mark.document("003", "worker")
async def test_asking_twice_is_one_task_while_it_is_open(service: TaskService, repository: TaskRepository) -> None:
    first = await service.create("ana", "research", "Why is the sky blue?")
    assert await service.create("ana", "research", "why is the  sky blue") == first
    running = await begun(repository, first.id)
    assert await service.create("ana", "research", "Why is the sky blue?") == running
    assert (await service.create("ben", "research", "Why is the sky blue?")).id != first.id
    assert (await service.create("ana", "medical", "Why is the sky blue?")).id != first.id
    await repository.finish(running, ANSWER)
    assert (await service.create("ana", "research", "Why is the sky blue?")).id != first.id


async def test_a_named_request_creates_one_task_even_when_it_is_repeated_after_its_end(
    service: TaskService, repository: TaskRepository
) -> None:
    first = await service.create("ana", "research", "Why is the sky blue?", once="d1:0")
    done = await repository.finish(await begun(repository, first.id), ANSWER)
    assert await service.create("ana", "research", "Why is the sky blue?", once="d1:0") == done
    assert (await service.create("ana", "research", "Why is the sky blue?", once="d1:1")).id != first.id
    assert (await service.create("ben", "research", "Why is the sky blue?", once="d1:0")).id != first.id


async def test_parallel_requests_for_one_task_get_one_task(service: TaskService, redis: Redis) -> None:
    asked = await asyncio.gather(*(service.create("ana", "research", "Why is the sky blue?") for _ in range(12)))
    assert len({task.id for task in asked}) == 1
    assert len(await service.list("ana")) == 1


@pytest.mark.parametrize(
    ("owner", "kind", "instruction"),
    [
        ("", "research", "Why?"),
        ("ana", "gardening", "Why?"),
        ("ana", "research", "  "),
        ("ana", "research", "x" * 4_001),
    ],
)
async def test_an_invalid_task_is_refused_with_advice(
    service: TaskService, owner: str, kind: str, instruction: str
) -> None:
    with pytest.raises(BadRequest):
        await service.create(owner, kind, instruction)


async def test_the_number_of_open_tasks_of_a_user_is_limited(service: TaskService) -> None:
    tasks = [await service.create("ana", "research", f"Question {number}") for number in range(OPEN_LIMIT)]
    with pytest.raises(TooMany):
        await service.create("ana", "research", "One more")
    assert await service.cancel("ana", tasks[0].id) == "canceled"
    await service.create("ana", "research", "One more")


async def test_cancelling_returns_the_result_of_the_cancellation(service: TaskService) -> None:
    task = await service.create("ana", "research", "Why?")
    assert await service.cancel("ana", "nonsense") == "not_found"
    assert await service.cancel("ana", task.id) == "canceled"
    assert await service.cancel("ana", task.id) == "already_done"


async def test_the_end_and_the_results_entry_are_one_transaction(
    service: TaskService, repository: TaskRepository, redis: Redis
) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
    late = await begun(repository, task.id)
    with pytest.raises(Superseded):
        await repository.finish(task, ANSWER)
    assert await results(redis) == []
    await repository.finish(late, ANSWER)
    with pytest.raises(Superseded):
        await repository.finish(late, ANSWER)
    assert await repository.take() is None
    assert await results(redis) == [{"task_id": task.id, "owner": "ana", "state": "done"}]


async def test_only_the_last_failure_is_a_result(
    service: TaskService, repository: TaskRepository, redis: Redis
) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
    assert (await repository.fail(task, "no answer", retry=True)).state is TaskState.QUEUED
    assert await results(redis) == []
    again = await begun(repository, task.id)
    assert (await repository.fail(again, "no answer", retry=True)).state is TaskState.FAILED
    assert [entry["state"] for entry in await results(redis)] == ["failed"]


async def test_the_next_run_has_the_results_of_finished_steps(service: TaskService, repository: TaskRepository) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?", steps={"plan": [1]})).id)
    await repository.save_step(task, "found", {"words": "blü"})
    again = await begun(repository, task.id)
    assert await repository.steps(task.id) == {"plan": [1], "found": {"words": "blü"}}
    with pytest.raises(Superseded):
        await repository.save_step(task, "found", {})
    await repository.finish(again, ANSWER)
    assert await repository.steps(task.id) == {}


async def test_progress_is_kept_in_order_and_bounded(service: TaskService, repository: TaskRepository) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
    for number in range(PROGRESS_LIMIT):
        await repository.report_progress(task, f"step {number}")
    progress = await service.progress("ana", task.id)
    assert progress is not None
    assert len(progress) == PROGRESS_LIMIT
    assert progress[-1].detail == f"step {PROGRESS_LIMIT - 1}"
    assert (await service.list("ana"))[0].progress == progress[-1].detail


async def test_every_change_is_published_and_shown_to_its_owner(redis: Redis) -> None:
    shown: list[tuple[str, TaskChanged]] = []
    repository = TaskRepository(redis, add_to_stream, lambda _, owner, event: shown.append((owner, event)))
    service = TaskService(repository, kinds={"research"})
    async with redis.pubsub() as subscription:
        await subscription.subscribe(EVENTS)
        task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
        await repository.report_progress(task, "searching")
        await repository.finish(task, ANSWER)
        received: list[bytes] = []
        while len(received) < 4:
            message = await subscription.get_message(ignore_subscribe_messages=True, timeout=1)
            received += [message["data"]] if message else []
    assert received == [b"queued", b"running", b"progress", b"done"]
    assert [event.event for _, event in shown] == ["queued", "running", "progress", "done"]
    assert {owner for owner, _ in shown} == {"ana"}
    assert shown[2][1] == TaskChanged(task.id, "progress", "research", "Why?", "searching")
    assert shown[3][1].result == TaskFindings("It is blue.", "live", ANSWER.citations)


async def test_the_metrics_count_the_changes_of_all_processes() -> None:
    metrics, registry = TaskMetrics(), CollectorRegistry()
    metrics.register_in(registry)
    for raw in (b"queued", b"queued", None, b"no event"):
        metrics.on_message(raw)
    assert registry.get_sample_value("voice_task_events_total", {"event": "queued"}) == 2
    assert registry.get_sample_value("voice_task_events_total", {"event": "no event"}) is None


async def test_owners_take_turns_however_many_tasks_one_of_them_has(
    service: TaskService, repository: TaskRepository
) -> None:
    for number in range(12):
        await service.create("greedy", "research", f"number {number}")
    await service.create("newcomer", "research", "only this")
    taken = [await repository.take() for _ in range(3)]
    assert [(task.owner, task.instruction) for task in taken if task] == [
        ("greedy", "number 0"),
        ("newcomer", "only this"),
        ("greedy", "number 1"),
    ]


async def test_a_running_task_is_taken_again_once_its_lease_is_over(redis: Redis) -> None:
    now = [100.0]
    repository = TaskRepository(redis, add_to_stream, lease_s=10, clock=lambda: now[0])
    await TaskService(repository, kinds={"research"}, clock=lambda: now[0]).create("ana", "research", "Why?")
    first = await repository.take()
    assert first is not None and await repository.take() is None
    now[0] += 9
    await repository.renew(first)
    now[0] += 9
    assert await repository.take() is None
    now[0] += 2
    second = await repository.take()
    assert second is not None and (second.run, second.setbacks.deaths) == (2, 1)
    with pytest.raises(Superseded):
        await repository.renew(first)


async def test_a_task_without_a_record_leaves_the_queue(
    service: TaskService, repository: TaskRepository, redis: Redis
) -> None:
    task = await service.create("ana", "research", "Why?")
    await redis.delete(record_key(task.id))
    assert await repository.take() is None and await redis.zcard(QUEUE) == 0


async def test_all_keys_of_a_task_expire(service: TaskService, repository: TaskRepository, redis: Redis) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
    await repository.save_step(task, "plan", [1])
    await repository.report_progress(task, "searching")
    everything = await names(redis)
    shared = {QUEUE, TURNS}
    assert [name for name in everything - shared if await redis.ttl(name) <= 0] == []


async def test_an_export_holds_all_data_of_tasks_and_an_erasure_leaves_none(
    service: TaskService, repository: TaskRepository, redis: Redis
) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
    await repository.report_progress(task, "searching")
    await service.create("ana", "research", "What else?")
    other = await service.create("ben", "research", "Why?")
    exported = await service.export("ana")
    assert {each.instruction for each in exported} == {"Why?", "What else?"}
    assert any(progress["detail"] == "searching" for each in msgspec.to_builtins(exported) for progress in each["told"])
    await service.erase("ana")
    assert [name for name in await names(redis) if "ana" in name or task.id in name] == []
    assert await redis.zscore(TURNS, "ana") is None
    assert await service.list("ana") == []
    assert await service.get("ben", other.id) == other
    with pytest.raises(Superseded):
        await repository.finish(task, ANSWER)
