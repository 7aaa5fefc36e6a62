"""A channel keeps its entries until they are acknowledged, and limits the inputs that wait."""

import pytest
from redis.asyncio import Redis

from backend.coordinator.store import ACTIVE, INPUTS_LIMIT, Channels
from backend.errors import TooMany
from backend.tasks.task import Task, TaskState


def a_task(number: int, owner: str = "ada") -> Task:
    return Task(f"t{number}", owner, "", "research", "bees", 1.0, 1.0, state=TaskState.DONE)


async def end(redis: Redis, channels: Channels, number: int) -> None:
    """End a task, and add its entry in the same transaction."""
    pipe = redis.pipeline(transaction=True)
    pipe.set(f"task:{number}", "done")
    channels.add_result(pipe, a_task(number))
    await pipe.execute()


@pytest.mark.document("003", "channels and cursors")
async def test_entries_are_read_in_order_until_they_are_acknowledged(redis: Redis) -> None:
    channels = Channels(redis)
    await channels.add_input("ada", "hello", "voice")
    await end(redis, channels, 7)
    first = await channels.waiting("ada")
    assert [(e.kind, e.text, e.task_id) for e in first] == [("input", "hello", ""), ("result", "", "t7")]
    assert await channels.waiting("ada") == first, "reading removed the entries"
    assert await channels.users() == ["ada"]
    await channels.acknowledge("ada", [entry.id for entry in first])
    await channels.unlist("ada")
    assert await channels.waiting("ada") == [] and await channels.users() == []


async def test_a_user_is_listed_as_long_as_something_waits(redis: Redis) -> None:
    channels = Channels(redis)
    await channels.add_input("ada", "hello", "voice")
    first, *_ = await channels.waiting("ada")
    await channels.add_input("ada", "and more", "voice")  # during the digest of the first
    await channels.acknowledge("ada", [first.id])
    await channels.unlist("ada")
    assert await channels.users() == ["ada"]
    assert [entry.text for entry in await channels.waiting("ada")] == ["and more"]


async def test_a_full_channel_takes_results_but_no_inputs(redis: Redis) -> None:
    channels = Channels(redis)
    for number in range(INPUTS_LIMIT):
        await channels.add_input("ada", f"word {number}", "voice")
    with pytest.raises(TooMany):
        await channels.add_input("ada", "one more", "voice")
    await end(redis, channels, 1)
    waiting = await channels.waiting("ada", limit=1_000)
    assert len(waiting) == INPUTS_LIMIT + 1 and waiting[-1].task_id == "t1"
    assert waiting[-2].text == f"word {INPUTS_LIMIT - 1}"


async def test_a_channel_is_read_and_erased(redis: Redis) -> None:
    channels = Channels(redis)
    await channels.add_input("ada", "hello", "api")
    assert [entry.text for entry in await channels.waiting("ada")] == ["hello"]
    await channels.erase("ada")
    assert await channels.waiting("ada") == [] and await redis.keys("*ada*") == [] and not await redis.exists(ACTIVE)
