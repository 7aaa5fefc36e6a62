"""Nothing added to a channel is lost, and nothing takes effect twice, whenever a process dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from backend.coordinator.store import ACTIVE, INPUTS_LIMIT, Channels
from backend.storage.client import connect
from backend.tasks.task import Task, TaskState
from tests.support.redis_server import running_redis


def a_task(number: int, owner: str = "ada") -> Task:
    return Task(f"t{number}", owner, "", "research", "bees", 1.0, 1.0, state=TaskState.DONE)


@pytest.fixture
async def redis() -> AsyncIterator[Redis]:
    with running_redis() as server:
        client = connect(server.url)
        yield client
        await client.aclose()


async def end(redis: Redis, channels: Channels, number: int) -> None:
    """A task ends, and its entry is added in the same transaction."""
    pipe = redis.pipeline(transaction=True)
    pipe.set(f"task:{number}", "done")
    channels.add_result(pipe, a_task(number))
    await pipe.execute()


async def test_entries_are_had_in_order_until_they_are_acknowledged(redis: Redis) -> None:
    channels = Channels(redis, "one")
    await channels.add_input("ada", "hello", "voice")
    await end(redis, channels, 7)
    first = await channels.take("ada")
    assert [(e.kind, e.text, e.task_id) for e in first] == [("input", "hello", ""), ("result", "", "t7")]
    assert await channels.take("ada") == first == await channels.waiting("ada")
    assert await channels.users() == ["ada"]
    await channels.acknowledge("ada", [entry.id for entry in first])
    await channels.unlist("ada")
    assert await channels.take("ada") == [] and await channels.users() == []


async def test_a_user_is_listed_as_long_as_something_waits(redis: Redis) -> None:
    channels = Channels(redis, "one")
    await channels.add_input("ada", "hello", "voice")
    first, *_ = await channels.take("ada")
    await channels.add_input("ada", "and more", "voice")  # while the first was thought about
    await channels.acknowledge("ada", [first.id])
    await channels.unlist("ada")
    assert await channels.users() == ["ada"] and [entry.text for entry in await channels.take("ada")] == ["and more"]


async def test_entries_of_a_reader_who_died_are_claimed(redis: Redis) -> None:
    dead, heir = Channels(redis, "dead"), Channels(redis, "heir", claim_after_s=0.05)
    await dead.add_input("ada", "hello", "voice")
    taken = await dead.take("ada")
    assert await heir.take("ada") == []
    await asyncio.sleep(0.1)
    assert await heir.take("ada") == taken


async def test_the_oldest_inputs_go_when_too_many_wait_and_results_never(redis: Redis) -> None:
    channels = Channels(redis, "one")
    await end(redis, channels, 1)
    for number in range(INPUTS_LIMIT + 5):
        await channels.add_input("ada", f"word {number}", "voice")
    waiting = await channels.waiting("ada", limit=1_000)
    assert len(waiting) == INPUTS_LIMIT and waiting[0].task_id == "t1" and waiting[1].text == "word 6"


async def test_a_channel_is_read_and_erased(redis: Redis) -> None:
    channels = Channels(redis, "one")
    await channels.add_input("ada", "hello", "api")
    assert [entry.text for entry in await channels.waiting("ada")] == ["hello"]
    await channels.erase("ada")
    assert await channels.waiting("ada") == [] and await redis.keys("*ada*") == [] and not await redis.exists(ACTIVE)


async def test_only_one_works_for_a_user_until_it_releases_the_lease_or_falls_silent(redis: Redis) -> None:
    one, two = Channels(redis, "one").lease("ada", 20.0), Channels(redis, "two").lease("ada", 0.1)
    assert await one.acquire() and not await two.acquire()
    await two.release()
    assert not await two.acquire(), "it released what was not its own"
    await one.release()
    assert await two.acquire()
    await asyncio.sleep(0.15)
    assert await one.acquire()
