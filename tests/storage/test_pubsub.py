"""One connection listens for a whole process, and notices when Redis falls silent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from backend.runtime.faults import observer_failures, skipped_records
from backend.storage import pubsub as module
from backend.storage.client import connect
from backend.storage.pubsub import CHANNEL, PubSub
from tests.support.pubsub import clients
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.waiting import until


@asynccontextmanager
async def listening(server: RedisProcess, received: dict[str, list[bytes | None]]) -> AsyncIterator[PubSub]:
    """A `PubSub` with an observer for every channel of `received`."""
    async with clients(server.url) as (_, pubsub):
        for channel, messages in received.items():
            pubsub.subscribe(channel, messages.append)
        pubsub.start()
        assert await pubsub.wait_until_open(10)
        yield pubsub


async def test_each_observer_gets_the_messages_of_its_channel_over_one_connection() -> None:
    received: dict[str, list[bytes | None]] = {"one": [], "two": []}
    with running_redis() as server:
        client = connect(server.url)
        before = len(await client.client_list())
        async with listening(server, received):
            assert received == {"one": [None], "two": [None]}, "a new observer is asked to look for itself"
            await client.publish("one", b"1")
            await client.publish("two", b"2")
            await client.publish("three", b"3")
            await until(lambda: received == {"one": [None, b"1"], "two": [None, b"2"]})
            assert len(await client.client_list()) == before + 1, "one connection, however many channels"
        await client.aclose()


async def test_a_quiet_connection_that_lives_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.4)
    received: dict[str, list[bytes | None]] = {"one": []}
    with running_redis() as server:
        async with listening(server, received):
            await asyncio.sleep(1.2)
    assert received == {"one": [None]}


async def test_a_silently_dead_connection_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.2)
    received: dict[str, list[bytes | None]] = {"one": []}
    with running_redis() as server:
        async with listening(server, received) as pubsub:
            server.freeze()
            await until(lambda: not pubsub.is_listening)
            server.thaw()
            await until(lambda: received["one"].count(None) == 2)


async def test_an_observer_that_raises_misses_one_message_and_the_others_get_all() -> None:
    failures = observer_failures["fragile"]
    received: dict[str, list[bytes | None]] = {"fragile": [], "one": []}

    def fragile(raw: bytes | None) -> None:
        if raw == b"bad":
            raise ValueError("somebody's words")
        received["fragile"].append(raw)

    with running_redis() as server:
        async with clients(server.url) as (_, pubsub):
            pubsub.subscribe("fragile", fragile)
            pubsub.subscribe("one", received["one"].append)
            pubsub.start()
            assert await pubsub.wait_until_open(10)
            for channel, message in (("fragile", b"bad"), ("fragile", b"good"), ("one", b"1")):
                await pubsub.publish(channel, message)
            await until(lambda: received == {"fragile": [None, b"good"], "one": [None, b"1"]})
    assert observer_failures["fragile"] == failures + 1


async def test_an_undecodable_message_is_skipped_and_a_newer_versions_field_is_ignored() -> None:
    skipped = skipped_records[CHANNEL]
    received: list[tuple[str, str] | None] = []
    with running_redis() as server:
        async with listening(server, {}) as pubsub:
            pubsub.on_user_message(lambda each: received.append((each.user, each.type) if each else None))
            await pubsub.publish(CHANNEL, b"\xff no JSON")
            await pubsub.publish(CHANNEL, b'{"user": 7, "origin": "elsewhere"}')
            await pubsub.publish(CHANNEL, b'{"user": "ada", "origin": "elsewhere", "from_the_future": [1]}')
            await pubsub.publish(
                CHANNEL, b'{"user": "ada", "origin": "elsewhere", "type": "task", "data": {}, "new": 1}'
            )
            await until(lambda: received == [("ada", ""), ("ada", "task")])
    assert skipped_records[CHANNEL] == skipped + 2
