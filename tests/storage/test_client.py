"""The Redis client: transactions that lose nothing, and leases that only the token of their holder prolongs."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fakeredis import FakeAsyncRedis

from backend.errors import BadRequest, MemoryUnavailable
from backend.storage import client as module
from backend.storage.client import Lease, Pipe, RedisClient, connect
from backend.storage.memory import briefly
from tests.support.redis_server import RedisProcess
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("redis")


@pytest.fixture(params=["redis", "fakeredis"])
async def client(server: RedisProcess, request: pytest.FixtureRequest) -> AsyncIterator[RedisClient]:
    redis = connect(server.url) if request.param == "redis" else FakeAsyncRedis()
    yield RedisClient(redis)
    await redis.aclose()


async def add_one(client: RedisClient) -> int:
    def write(pipe: Pipe, raw: bytes | None) -> int:
        number = int(raw or 0) + 1
        pipe.set("number", number)
        return number

    return await client.transact("number", read=lambda pipe: pipe.get("number"), write=write)


async def test_parallel_transactions_lose_no_change(client: RedisClient) -> None:
    numbers = await asyncio.gather(*(add_one(client) for _ in range(12)))
    assert sorted(numbers) == list(range(1, 13))


async def test_a_transaction_on_ever_changing_keys_gives_up(
    client: RedisClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 3)
    tried = 0

    async def read(pipe: Pipe) -> None:
        nonlocal tried
        tried += 1
        await client.redis.set("number", tried)

    def write(pipe: Pipe, _: None) -> None:
        pipe.set("number", "ours")

    with pytest.raises(MemoryUnavailable):
        await client.transact("number", read=read, write=write)
    assert tried == 3
    assert await client.call(lambda redis: redis.get("number")) == b"3"


async def test_an_error_inside_a_transaction_is_raised_and_nothing_is_written(client: RedisClient) -> None:
    def write(pipe: Pipe, _: bytes | None) -> None:
        pipe.set("number", 1)
        raise BadRequest("not this one")

    with pytest.raises(BadRequest):
        await client.transact("number", read=lambda pipe: pipe.get("number"), write=write)
    assert await client.call(lambda redis: redis.get("number")) is None


async def test_only_the_holders_token_renews_and_releases_a_lease(client: RedisClient) -> None:
    ours, theirs = Lease(client, "lease", 10, "ours"), Lease(client, "lease", 60, "theirs")
    assert await ours.acquire()
    assert not await theirs.acquire()
    assert not await theirs.renew()
    assert not await theirs.release()
    assert await client.call(lambda redis: redis.get("lease")) == b"ours"
    assert await client.call(lambda redis: redis.pttl("lease")) <= 10_000, "the other holder has not prolonged it"
    assert await ours.renew()
    assert await ours.release()
    assert not await ours.release()
    assert await theirs.acquire()


async def test_a_former_holder_loses_a_lease_that_was_taken_over(client: RedisClient) -> None:
    ours, theirs = Lease(client, "lease", 1.5), Lease(client, "lease", 10)
    async with ours.held() as held:
        assert held
        renewing = asyncio.create_task(ours.keep_renewed())
        await asyncio.sleep(1.8)
        assert not await theirs.acquire(), "it is renewed in time"
        await theirs.take_over()
        await asyncio.wait_for(renewing, 10)
    assert await theirs.renew(), "leaving the block has not released it"
    async with ours.held() as held:
        assert not held


async def test_an_unreachable_memory_gives_the_default(server: RedisProcess) -> None:
    client = RedisClient(connect(server.url))
    await client.call(lambda redis: redis.set("name", "Zoë"))
    assert await briefly(client.call(lambda redis: redis.get("name")), b"", within_s=10) == "Zoë".encode()
    server.freeze()
    assert await briefly(client.call(lambda redis: redis.get("name")), b"", within_s=0.05) == b""
    server.kill()
    assert await briefly(client.call(lambda redis: redis.get("name")), b"", within_s=1) == b""
    server.start()
    await until(lambda: briefly(client.call(lambda redis: redis.ping()), False, within_s=1))
    await client.redis.aclose()


async def test_a_call_that_is_cancelled_at_any_moment_ends_cancelled(server: RedisProcess) -> None:
    for step in range(10):
        client = RedisClient(connect(server.url))
        for _ in range(2):  # on a new connection, then on one of the pool
            calling = asyncio.create_task(client.call(lambda redis: redis.get("key")))
            for _ in range(step):
                await asyncio.sleep(0)
            if not calling.done():
                calling.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await calling
        await client.redis.aclose()
