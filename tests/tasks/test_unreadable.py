"""Undecodable records and messages of tasks are skipped and counted, while everything beside them goes on.

Records of another version are no such case: unknown fields are ignored, and missing ones have defaults.
"""

import json
from typing import Any

import pytest
from redis.asyncio import Redis

from backend.runtime.faults import skipped_records
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.repository import (
    QUEUE,
    TaskRepository,
    model_calls_key,
    progress_key,
    record_key,
    steps_key,
)
from backend.tasks.service import TaskService
from backend.tasks.task import Task
from backend.testing.memory import FakeMemory
from tests.support.tasks import add_to_stream, begun

BAD = "bad"
GARBAGE = b"\x00{not json"


@pytest.fixture(autouse=True)
def none_skipped_yet() -> None:
    skipped_records.clear()


@pytest.fixture
def repository(redis: Redis) -> TaskRepository:
    return TaskRepository(redis, add_to_stream)


@pytest.fixture
def service(repository: TaskRepository) -> TaskService:
    return TaskService(repository, kinds={"research"})


async def spoil(redis: Redis, task: Task) -> None:
    await redis.set(record_key(task.id), GARBAGE)


async def test_an_undecodable_record_hides_no_other_of_its_owner(redis: Redis, service: TaskService) -> None:
    bad, good = [await service.create("ana", "research", text) for text in ("Why?", "Why not?")]
    await spoil(redis, bad)
    assert await service.list("ana") == [good] and await service.get("ana", bad.id) is None
    exported = await service.export("ana")
    assert exported[0].id == good.id and exported[1:] == [{"unreadable": GARBAGE.decode()}]
    assert skipped_records["task record"] >= 3
    assert await service.repository.take() == await service.get("ana", good.id)
    await service.erase("ana")
    assert not await redis.exists(record_key(bad.id), progress_key(bad.id)), "an erasure removes it everywhere"


async def test_a_task_behind_any_number_of_undecodable_records_is_taken(
    redis: Redis, repository: TaskRepository, service: TaskService
) -> None:
    good = await service.create("ana", "research", "Why?")
    for number in range(120):
        await redis.zadd(QUEUE, {f"{BAD}{number}": float(number)})
        await redis.set(record_key(f"{BAD}{number}"), GARBAGE)
    taken = await repository.take()
    assert taken is not None and taken.id == good.id
    assert await redis.exists(record_key(f"{BAD}0")), "it is left for a version that can decode it"
    assert await redis.zcard(QUEUE) == 121


async def test_undecodable_steps_progress_and_model_calls_are_left_out(
    redis: Redis, repository: TaskRepository, service: TaskService
) -> None:
    task = await begun(repository, (await service.create("ana", "research", "Why?")).id)
    await repository.save_step(task, "plan", [1])
    calls = ModelCallLog(redis, Outbox(FakeMemory()))
    lists: Any = redis
    await lists.hset(steps_key(task.id), "draft", GARBAGE)
    await lists.rpush(progress_key(task.id), GARBAGE)
    await lists.rpush(model_calls_key("t1"), GARBAGE, json.dumps({"model": "m"}))
    await lists.zadd("user:ana:archives", {"t1": 1.0})
    await repository.report_progress(task, "searching")
    assert await repository.steps(task.id) == {"plan": [1]}
    assert [entry.event for entry in await repository.progress(task.id)] == ["queued", "running", "progress"]
    assert await calls.read("ana", "t1") == [{"model": "m"}]
    assert set(skipped_records) == {"task step", "progress entry", "model call"}
