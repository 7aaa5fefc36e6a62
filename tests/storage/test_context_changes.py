"""Observers in one process hear of changes to a user's context in another."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from backend.errors import MemoryUnavailable
from backend.storage.client import connect
from backend.storage.memory import Memory, following_changes
from backend.storage.pubsub import PubSub
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.waiting import until


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server


@asynccontextmanager
async def process(redis: RedisProcess) -> AsyncIterator[Memory]:
    """The memory of one process, and its subscription."""
    client, waiting = connect(redis.url), connect(redis.url, waiting=True)
    memory, pubsub = Memory(client), PubSub(client, waiting)
    async with following_changes(pubsub, memory):
        pubsub.start()
        try:
            yield memory
        finally:
            await pubsub.close()
            await waiting.aclose()
            await memory.close()


def named(name: str) -> Any:
    return lambda context: context | {"name": name}


async def test_observers_get_changes_of_another_process_and_their_own_once(redis: RedisProcess) -> None:
    async with process(redis) as one, process(redis) as other:
        received: list[dict[str, Any]] = []
        one.observers.add("ana", received.append)
        await until(lambda: bool(received))  # a new observer first gets the current state
        received.clear()
        await other.update_user_context("ana", named("Ana"))
        await until(lambda: received == [{"name": "Ana"}])
        await one.update_user_context("ana", named("Anna"))
        assert received == [{"name": "Ana"}, {"name": "Anna"}]
        await other.update_user_context("bob", named("Bob"))
        await other.forget_user("ana")
        await until(lambda: received[-1] == {})
        assert received == [{"name": "Ana"}, {"name": "Anna"}, {}]


async def test_after_an_outage_observers_get_the_changes_made_during_it(redis: RedisProcess) -> None:
    async with process(redis) as one, process(redis) as other:
        received: list[dict[str, Any]] = []
        one.observers.add("cy", received.append)
        redis.kill()
        redis.start()
        await until(lambda: bool(received), 10)  # read again: the connection is back
        await until_changed(other)
        await until(lambda: received[-1] == {"name": "Cy"})


async def until_changed(memory: Memory) -> None:
    """Change the context as soon as Redis is back."""
    async with asyncio.timeout(10):
        while True:
            try:
                await memory.update_user_context("cy", named("Cy"))
            except MemoryUnavailable:
                await asyncio.sleep(0.1)
            else:
                return
