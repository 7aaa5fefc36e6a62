"""The tasks of all users, kept in Redis: whose they are, how often they exist, and what ends with them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis
from redis.asyncio import Redis

from backend.errors import BadRequest, MemoryUnavailable, TooMany
from backend.storage.client import connect
from backend.tasks import keys
from backend.tasks.queue import FakeQueue
from backend.tasks.repository import RESULTS, TOLD_LIMIT, Records
from backend.tasks.service import Board
from backend.tasks.task import OPEN_LIMIT, Outcome, Superseded, TaskState
from tests.support.redis_server import RedisProcess, running_redis

ANSWER = Outcome("It is blue.", "live", ("Some source",))


@pytest.fixture(scope="module")
def server() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@pytest.fixture(params=["redis", "fakeredis"])
async def redis(request: pytest.FixtureRequest, server: RedisProcess) -> AsyncIterator[Redis]:
    client = connect(server.url) if request.param == "redis" else FakeAsyncRedis()
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def records(redis: Redis) -> Records:
    return Records(redis)


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture
def board(records: Records, queue: FakeQueue) -> Board:
    return Board(records, queue, kinds={"research", "medical"})


async def results(redis: Redis) -> list[dict[str, str]]:
    entries: Any = await redis.xrange(RESULTS)
    return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in entries]


async def names(redis: Redis) -> set[str]:
    """Every key there is."""
    found: Any = await redis.keys("*")
    return {name.decode() for name in found}


async def test_a_task_is_queued_and_found_by_its_owner_alone(board: Board, queue: FakeQueue) -> None:
    task = await board.create("ana", "research", " Why is the sky blue? ", "c1")
    assert (task.state, task.instruction, task.conversation_id) == (TaskState.QUEUED, "Why is the sky blue?", "c1")
    assert queue.waiting == [task.id]
    assert await board.get("ana", task.id) == task
    assert await board.list("ana") == [task]
    assert await board.get("ben", task.id) is None
    assert await board.list("ben") == []
    assert await board.progress("ben", task.id) is None
    assert await board.cancel("ben", task.id) == "not_found"
    assert await board.get("ana", task.id) == task


async def test_the_newest_task_comes_first(records: Records, queue: FakeQueue) -> None:
    now = iter(range(100, 200))
    board = Board(records, queue, kinds={"research"}, clock=lambda: next(now))
    for question in ("one", "two", "three"):
        await board.create("ana", "research", question)
    assert [task.instruction for task in await board.list("ana", limit=2)] == ["three", "two"]


async def test_asking_twice_is_one_task_as_long_as_it_is_open(board: Board, records: Records) -> None:
    first = await board.create("ana", "research", "Why is the sky blue?")
    assert await board.create("ana", "research", "why is the  sky blue") == first
    running = await records.begin(first.id)
    assert await board.create("ana", "research", "Why is the sky blue?") == running
    assert (await board.create("ben", "research", "Why is the sky blue?")).id != first.id
    assert (await board.create("ana", "medical", "Why is the sky blue?")).id != first.id
    await records.finish(running, ANSWER)
    assert (await board.create("ana", "research", "Why is the sky blue?")).id != first.id


async def test_many_who_ask_at_once_get_one_task(board: Board, redis: Redis) -> None:
    asked = await asyncio.gather(*(board.create("ana", "research", "Why is the sky blue?") for _ in range(12)))
    assert len({task.id for task in asked}) == 1
    assert len(await board.list("ana")) == 1


@pytest.mark.parametrize(
    ("owner", "kind", "instruction"),
    [
        ("", "research", "Why?"),
        ("ana", "gardening", "Why?"),
        ("ana", "research", "  "),
        ("ana", "research", "x" * 4_001),
    ],
)
async def test_what_is_no_task_is_refused_with_advice(board: Board, owner: str, kind: str, instruction: str) -> None:
    with pytest.raises(BadRequest):
        await board.create(owner, kind, instruction)


async def test_a_user_may_have_so_many_open_and_no_more(board: Board) -> None:
    tasks = [await board.create("ana", "research", f"Question {number}") for number in range(OPEN_LIMIT)]
    with pytest.raises(TooMany):
        await board.create("ana", "research", "One more")
    assert await board.cancel("ana", tasks[0].id) == "canceled"
    await board.create("ana", "research", "One more")


async def test_cancelling_says_what_became_of_it(board: Board, queue: FakeQueue) -> None:
    task = await board.create("ana", "research", "Why?")
    assert await board.cancel("ana", "nonsense") == "not_found"
    assert await board.cancel("ana", task.id) == "canceled"
    assert await board.cancel("ana", task.id) == "already_done"
    assert queue.canceled == [task.id]


async def test_the_end_and_the_results_entry_are_one(board: Board, records: Records, redis: Redis) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    late = await records.begin(task.id)
    with pytest.raises(Superseded):
        await records.finish(task, ANSWER)
    assert await results(redis) == []
    await records.finish(late, ANSWER)
    with pytest.raises(Superseded):
        await records.finish(late, ANSWER)
    with pytest.raises(Superseded):
        await records.begin(task.id)
    assert await results(redis) == [{"task_id": task.id, "owner": "ana", "state": "done"}]


async def test_only_the_last_failure_is_a_result(board: Board, records: Records, redis: Redis) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    assert (await records.fail(task, "no answer", retries=1, retry_after_s=5)).state is TaskState.QUEUED
    assert await results(redis) == []
    again = await records.begin(task.id)
    assert (await records.fail(again, "no answer", retries=1, retry_after_s=5)).state is TaskState.FAILED
    assert [entry["state"] for entry in await results(redis)] == ["failed"]


async def test_a_canceled_task_leaves_no_result(board: Board, records: Records, redis: Redis) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    await board.cancel("ana", task.id)
    with pytest.raises(Superseded):
        await records.finish(task, ANSWER)
    assert await results(redis) == []


async def test_of_many_runs_that_finish_at_once_one_does(board: Board, records: Records, redis: Redis) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    ends = await asyncio.gather(*(records.finish(task, ANSWER) for _ in range(8)), return_exceptions=True)
    assert sum(not isinstance(end, Superseded) for end in ends) == 1
    assert len(await results(redis)) == 1


async def test_what_a_step_came_to_is_there_for_the_next_run(board: Board, records: Records) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?", steps={"plan": [1]})).id)
    await records.keep(task, "found", {"words": "blü"})
    again = await records.begin(task.id)
    assert await records.steps(task.id) == {"plan": [1], "found": {"words": "blü"}}
    with pytest.raises(Superseded):
        await records.keep(task, "found", {})
    await records.finish(again, ANSWER)
    assert await records.steps(task.id) == {}


async def test_what_it_tells_is_kept_in_order_and_bounded(board: Board, records: Records) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    for number in range(TOLD_LIMIT):
        await records.tell(task, f"step {number}")
    told = await board.progress("ana", task.id)
    assert told is not None
    assert len(told) == TOLD_LIMIT
    assert told[-1]["detail"] == f"step {TOLD_LIMIT - 1}"
    assert (await board.list("ana"))[0].progress == told[-1]["detail"]


async def test_every_change_is_told_to_whoever_listens(board: Board, records: Records, redis: Redis) -> None:
    async with redis.pubsub() as ear:
        await ear.subscribe(keys.EVENTS)
        task = await records.begin((await board.create("ana", "research", "Why?")).id)
        await records.tell(task, "searching")
        await records.finish(task, ANSWER)
        heard: list[dict[str, str]] = []
        while len(heard) < 4:
            message = await ear.get_message(ignore_subscribe_messages=True, timeout=1)
            heard += [json.loads(message["data"])] if message else []
    assert [each["event"] for each in heard] == ["queued", "running", "progress", "done"]
    assert {each["owner"] for each in heard} == {"ana"}
    assert heard[2]["detail"] == "searching"
    assert "Why" not in json.dumps(heard)


async def test_the_counts_tell_what_happened_and_what_is(board: Board, records: Records) -> None:
    tasks = [await board.create("ana", "research", f"Question {number}") for number in range(3)]
    running = await records.begin(tasks[0].id)
    counts = await records.counts()
    assert (counts["queued"], counts["running"], counts["queued_now"], counts["running_now"]) == (3, 1, 2, 1)
    await records.fail(running, "no answer", retries=1, retry_after_s=5)
    counts = await records.counts()
    assert (counts["retrying"], counts["queued_now"], counts["running_now"]) == (1, 3, 0)


async def test_open_tasks_that_do_not_move_are_found(board: Board, records: Records, redis: Redis) -> None:
    task = await board.create("ana", "research", "Why?")
    assert await records.unmoved(task.changed_at - 1) == []
    assert await records.unmoved(task.changed_at + 1) == [task]
    await redis.delete(keys.record(task.id))
    assert await records.unmoved(task.changed_at + 1) == []
    assert await redis.zcard(keys.OPEN) == 0


async def test_everything_of_a_task_expires(board: Board, records: Records, redis: Redis) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    await records.keep(task, "plan", [1])
    await records.tell(task, "searching")
    everything = await names(redis)
    shared = {keys.OPEN, keys.RUNNING, keys.COUNTS}
    assert [name for name in everything - shared if await redis.ttl(name) <= 0] == []


async def test_an_export_holds_all_of_it_and_an_erasure_leaves_nothing(
    board: Board, records: Records, redis: Redis
) -> None:
    task = await records.begin((await board.create("ana", "research", "Why?")).id)
    await records.tell(task, "searching")
    await board.create("ana", "research", "What else?")
    other = await board.create("ben", "research", "Why?")
    exported = await board.export("ana")
    assert {each["instruction"] for each in exported} == {"Why?", "What else?"}
    assert any(told["detail"] == "searching" for each in exported for told in each["told"])
    await board.erase("ana")
    assert [name for name in await names(redis) if "ana" in name or task.id in name] == []
    assert await board.list("ana") == []
    assert await board.get("ben", other.id) == other
    with pytest.raises(Superseded):
        await records.finish(task, ANSWER)


async def test_a_redis_that_is_gone_is_an_error_of_ours() -> None:
    with running_redis() as server:
        client = connect(server.url)
        board = Board(Records(client), FakeQueue(), kinds={"research"})
        task = await board.create("ana", "research", "Why?")
        server.kill()
        with pytest.raises(MemoryUnavailable):
            await board.get("ana", task.id)
        await client.aclose()
