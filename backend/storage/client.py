"""Every access to Redis goes through a client with a time limit, one error (`MemoryUnavailable`) and a circuit breaker.

A store makes one `RedisClient` over the process's connection pool, and uses it for everything: `call` for plain
commands, `transact` to read, decide and write, a `Lease` for work that one process does alone. Each store has its own
circuit breaker, so that a slow command of one store does not block the others.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, TypeVar, cast

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from backend.errors import MemoryUnavailable
from backend.runtime.supervisor import supervising

TIMEOUT_S = 1.0
"""Seconds a whole call may take."""
REST_S = 1.0
"""Seconds between two tries while Redis does not answer."""
SOCKET_TIMEOUT_S = 0.9
"""Seconds one reply may take; less than `TIMEOUT_S`, to leave time to tidy up the connection."""
CONNECTIONS = 16
"""The most connections; further calls wait for one, within their `TIMEOUT_S`."""
ATTEMPTS = 100
"""The most attempts of a transaction while others write to the same keys; the time limit usually ends it earlier."""
RENEWALS = 4
"""Renewals within the life of a lease, so that three may fail before it is lost."""

T = TypeVar("T")
V = TypeVar("V")
Pipe: TypeAlias = Any
"""A redis-py pipeline, untyped, since its methods are typed for blocking and asynchronous clients together."""


def connect(url: str, *, waiting: bool = False) -> Redis:
    """Return a client for `redis://`, `rediss://` or `unix://`; it connects when first used and never retries.

    A `waiting` client is for reads that wait (pub/sub, `BLOCK`): replies have no time limit but that of its callers.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=SOCKET_TIMEOUT_S,
        socket_timeout=None if waiting else SOCKET_TIMEOUT_S,
        socket_connect_timeout=SOCKET_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )
    return Redis.from_pool(pool)


class RedisClient:
    """A Redis client with a time limit on every call, one error for every failure, and a circuit breaker."""

    def __init__(self, redis: Redis) -> None:
        """The owner of `redis` closes it."""
        self.redis = redis
        self._next_try = 0.0
        """After a failure, the steady-clock time of the next attempt; calls before that fail immediately."""

    async def call(self, work: Callable[[Redis], Any]) -> Any:
        """Return what `work(redis)` awaits: `await client.call(lambda redis: redis.get(key))`.

        Raises `MemoryUnavailable` for every failure of Redis and the network; errors of `work` itself pass through.
        """
        if self._next_try:
            if time.monotonic() < self._next_try:
                raise MemoryUnavailable("Redis did not answer a moment ago.")
            self._next_try = time.monotonic() + REST_S  # This call tries Redis for all others.
        task = cast(asyncio.Task[Any], asyncio.current_task())
        cancelling = task.cancelling()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                result = await cast(Awaitable[Any], work(self.redis))
            if task.cancelling() > cancelling:  # redis-py's check of a connection can swallow a cancellation.
                raise asyncio.CancelledError
        except (TimeoutError, OSError, RedisConnectionError, RedisTimeout) as error:
            self._next_try = time.monotonic() + REST_S
            raise MemoryUnavailable(f"Redis does not answer ({type(error).__name__}).") from error
        except RedisError as error:
            self._next_try = 0.0
            raise MemoryUnavailable(f"Redis refused ({type(error).__name__}).") from error
        self._next_try = 0.0
        return result

    def pipeline(self, *, transaction: bool = True) -> Pipe:
        """Return an empty pipeline; fill it, then `await client.execute(pipe)`."""
        return self.redis.pipeline(transaction=transaction)

    async def execute(self, pipe: Pipe) -> list[Any]:
        """Send a filled pipeline, and return its replies in order. Raises `MemoryUnavailable`."""
        return cast(list[Any], await self.call(lambda _: pipe.execute()))

    async def transact(self, *keys: str, read: Callable[[Pipe], Awaitable[V]], write: Callable[[Pipe, V], T]) -> T:
        """Read, decide and write in one transaction, and return the result of `write`.

        `read(pipe)` awaits commands while `keys` are watched. `write(pipe, value)` gets its result, decides, and queues
        commands on `pipe`, which are carried out together. If another writer changes a key in between, both run again,
        so they must have no other effects. Their exceptions pass through, and then nothing is written. Raises
        `MemoryUnavailable`, also after `ATTEMPTS` attempts.
        """
        attempts = 0

        async def attempt(pipe: Pipe) -> T:
            nonlocal attempts
            attempts += 1
            if attempts > ATTEMPTS:
                raise MemoryUnavailable("Too many writers change the same record at the same time.")
            value = await read(pipe)
            pipe.multi()
            return write(pipe, value)

        return cast(T, await self.call(lambda redis: redis.transaction(attempt, *keys, value_from_callable=True)))


class RedisStore:
    """A store of records over a Redis client that its owner closes. Its methods may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._client = RedisClient(redis)


class Lease:
    """A lease is the exclusive right to do something, over all processes: one holder's claim to the key `name`.

    The key holds the holder's token, and expires `ttl_s` seconds after its last renewal, so a dead holder loses it.
    Only the token can renew and release it. redis-py's `Lock` cannot be taken over, and needs Lua scripts, for which
    the in-process fallback (fakeredis) would need a Lua interpreter. Every method may raise `MemoryUnavailable`.
    """

    def __init__(self, client: RedisClient, name: str, ttl_s: float, token: str | None = None) -> None:
        """`token` names the holder in the key; without one it is random."""
        self._client = client
        self._name = name
        self._ttl_ms = round(ttl_s * 1000)
        self.token = token or secrets.token_hex(8)

    async def acquire(self) -> bool:
        """Take the lease, and return whether this succeeded; False while it has a holder, even this one."""
        taken = self._client.call(lambda redis: redis.set(self._name, self.token, nx=True, px=self._ttl_ms))
        return bool(await taken)

    async def take_over(self) -> None:
        """Take the lease from its holder."""
        await self._client.call(lambda redis: redis.set(self._name, self.token, px=self._ttl_ms))

    async def renew(self) -> bool:
        """Hold the lease for another `ttl_s` seconds; False: it was lost."""
        return await self._if_ours(lambda pipe: pipe.pexpire(self._name, self._ttl_ms))

    async def release(self) -> bool:
        """Release the lease; False: it was lost before."""
        return await self._if_ours(lambda pipe: pipe.delete(self._name))

    async def keep_renewed(self) -> None:
        """Keep the lease renewed until it is lost or the task is cancelled."""
        while True:
            await asyncio.sleep(self._ttl_ms / 1000 / RENEWALS)
            with suppress(MemoryUnavailable):
                if not await self.renew():
                    return

    @asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """Hold and renew the lease within the block, which gets False if there is another holder."""
        if not await self.acquire():
            yield False
            return
        try:
            async with supervising("lease renewal", self.keep_renewed):
                yield True
        finally:
            with suppress(MemoryUnavailable):
                await self.release()

    async def _if_ours(self, change: Callable[[Pipe], object]) -> bool:
        def write(pipe: Pipe, holder: bytes | None) -> bool:
            ours = holder == self.token.encode()
            if ours:
                change(pipe)
            return ours

        return await self._client.transact(self._name, read=lambda pipe: pipe.get(self._name), write=write)
