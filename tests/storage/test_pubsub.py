"""One connection hears for a whole process, and notices when Redis falls silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from backend.storage import pubsub as module
from backend.storage.pubsub import Relay
from backend.storage.redis_memory import connect, connect_waiting
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.waiting import until


@asynccontextmanager
async def listening(server: RedisProcess, heard: dict[str, list[bytes | None]]) -> AsyncIterator[Relay]:
    """A relay with a hearer for every channel of `heard`."""
    redis, waiting = connect(server.url), connect_waiting(server.url)
    relay = Relay(redis, waiting)
    for channel, messages in heard.items():
        relay.on(channel, messages.append)
    relay.begin()
    try:
        assert await relay.opened(10)
        yield relay
    finally:
        await relay.close()
        await waiting.aclose()
        await redis.aclose()


async def test_each_hearer_gets_the_messages_of_its_channel_over_one_connection() -> None:
    heard: dict[str, list[bytes | None]] = {"one": [], "two": []}
    with running_redis() as server:
        client = connect(server.url)
        before = len(await client.client_list())
        async with listening(server, heard):
            assert heard == {"one": [None], "two": [None]}, "who begins to listen is told to look for itself"
            await client.publish("one", b"1")
            await client.publish("two", b"2")
            await client.publish("three", b"3")
            await until(lambda: heard == {"one": [None, b"1"], "two": [None, b"2"]}, 10)
            assert len(await client.client_list()) == before + 1, "one connection, however many channels"
        await client.aclose()


async def test_a_quiet_connection_that_lives_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.05)
    heard: dict[str, list[bytes | None]] = {"one": []}
    with running_redis() as server:
        async with listening(server, heard):
            await asyncio.sleep(0.5)
    assert heard == {"one": [None]}


async def test_a_connection_that_is_dead_without_saying_so_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.2)
    heard: dict[str, list[bytes | None]] = {"one": []}
    with running_redis() as server:
        async with listening(server, heard) as relay:
            server.freeze()
            await until(lambda: not relay.listening, 10)
            server.thaw()
            await until(lambda: heard["one"].count(None) == 2, 10)
