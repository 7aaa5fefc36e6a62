"""What one process changes of a user's context, listeners in another hear of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from backend.errors import MemoryUnavailable
from backend.storage.client import connect, connect_waiting
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
    """A memory as a process has it, and its ear."""
    client, waiting = connect(redis.url), connect_waiting(redis.url)
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


async def test_a_change_made_elsewhere_is_heard_and_ones_own_is_heard_once(redis: RedisProcess) -> None:
    async with process(redis) as one, process(redis) as other:
        heard: list[dict[str, Any]] = []
        one.watch_user("ana", heard.append)
        await until(lambda: bool(heard))  # whoever begins to listen asks once how things stand
        heard.clear()
        await other.update_user_context("ana", named("Ana"))
        await until(lambda: heard == [{"name": "Ana"}])
        await one.update_user_context("ana", named("Anna"))
        assert heard == [{"name": "Ana"}, {"name": "Anna"}]
        await other.update_user_context("bob", named("Bob"))
        await other.forget_user("ana")
        await until(lambda: heard[-1] == {})
        assert heard == [{"name": "Ana"}, {"name": "Anna"}, {}]


async def test_what_was_changed_while_redis_was_away_is_heard_when_it_is_back(redis: RedisProcess) -> None:
    async with process(redis) as one, process(redis) as other:
        heard: list[dict[str, Any]] = []
        one.watch_user("cy", heard.append)
        redis.kill()
        redis.start()
        await until(lambda: bool(heard), 10)  # heard anew: the connection is back
        await until_changed(other)
        await until(lambda: heard[-1] == {"name": "Cy"}, 10)


async def until_changed(memory: Memory) -> None:
    """Change it as soon as Redis takes it again."""
    async with asyncio.timeout(10):
        while True:
            try:
                await memory.update_user_context("cy", named("Cy"))
            except MemoryUnavailable:
                await asyncio.sleep(0.1)
            else:
                return
