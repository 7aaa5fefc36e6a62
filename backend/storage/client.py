"""The one way to Redis: every call is bounded in time, fails as `MemoryUnavailable`, and meets a circuit breaker.

A store makes one `RedisClient` over the process's connection pool and goes through it for everything: `call` for plain
commands, `transact` for read, decide and write, a `Lease` for what one process does alone. Each store has a circuit
breaker of its own, so that a slow command of one does not shut the others out.
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
"""Seconds a call may take, all in all."""
REST_S = 1.0
"""Seconds between two tries while Redis does not answer."""
SOCKET_TIMEOUT_S = 0.9
"""Seconds one reply may take; less than the whole, so that the connection is tidied up within it."""
CONNECTIONS = 16
"""Connections at most; further calls wait for one, within their second."""
ATTEMPTS = 100
"""Times a transaction is tried while others write to the same keys; the time limit usually ends it earlier."""
RENEWALS = 4
"""Renewals within the life of a lease: three may fail before it is lost."""

T = TypeVar("T")
V = TypeVar("V")
Pipe: TypeAlias = Any
"""A redis-py pipeline. Its methods are typed for both the blocking and the asynchronous client."""


def connect(url: str, *, waiting: bool = False) -> Redis:
    """Return a client for `redis://`, `rediss://` or `unix://`; it connects when first used and never retries.

    `waiting`: it is for reads that wait (pub/sub, `BLOCK`); replies have no time limit, and its callers set theirs.
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
        """`redis` stays its owner's, who closes it."""
        self.redis = redis
        self._next_try = 0.0
        """After a failure: when the next call is tried, on the steady clock; the calls before it fail immediately."""

    def __repr__(self) -> str:
        return f"RedisClient({'out of reach' if self._next_try else 'in reach'})"

    async def call(self, work: Callable[[Redis], Any]) -> Any:
        """Return what `work(redis)` awaits: `await client.call(lambda redis: redis.get(key))`.

        Raises `MemoryUnavailable` for every failure of Redis and the network; errors of `work` itself pass through.
        """
        if self._next_try:
            if time.monotonic() < self._next_try:
                raise MemoryUnavailable("Redis did not answer a moment ago.")
            self._next_try = time.monotonic() + REST_S  # this call tries it for all
        task = cast(asyncio.Task[Any], asyncio.current_task())
        cancelling = task.cancelling()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                result = await cast(Awaitable[Any], work(self.redis))
            if task.cancelling() > cancelling:  # redis-py's check of a connection can swallow a cancellation
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
        """Read, decide and write as one, and return what `write` returned.

        `read(pipe)` awaits commands while `keys` are watched. `write(pipe, value)` gets what was read, decides, and
        queues commands on `pipe`, which are carried out together. When another writer changed one of the keys in
        between, both run again, so they must have no other effects. What they raise comes through, and nothing is
        written then. Raises `MemoryUnavailable`, also after `ATTEMPTS` attempts.
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
    """A store of records over a Redis client that stays its owner's. Its methods may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._client = RedisClient(redis)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client})"


class Lease:
    """A lease is the right to do something alone, over all processes: one holder's claim to the key `name`.

    The key holds the holder's token and expires `ttl_s` seconds after it was last renewed, so that a holder that died
    loses it; only the token renews and releases it. redis-py's own `Lock` does the same with Lua scripts, which the
    in-process fallback (fakeredis) cannot run without a Lua interpreter of its own, and it cannot be taken over.
    Every method may raise `MemoryUnavailable`.
    """

    def __init__(self, client: RedisClient, name: str, ttl_s: float, token: str | None = None) -> None:
        """`token` names the holder in the key; without one it is random."""
        self._client = client
        self._name = name
        self._ttl_ms = round(ttl_s * 1000)
        self.token = token or secrets.token_hex(8)

    def __repr__(self) -> str:
        return f"Lease({self.token}, {self._ttl_ms} ms)"  # the name may hold a user's id

    async def acquire(self) -> bool:
        """Take the lease, and return whether it is ours now; False while there is a holder, even this one."""
        taken = self._client.call(lambda redis: redis.set(self._name, self.token, nx=True, px=self._ttl_ms))
        return bool(await taken)

    async def take_over(self) -> None:
        """Take the lease from its holder."""
        await self._client.call(lambda redis: redis.set(self._name, self.token, px=self._ttl_ms))

    async def renew(self) -> bool:
        """Hold the lease for another `ttl_s` seconds; False: it is no longer ours."""
        return await self._if_ours(lambda pipe: pipe.pexpire(self._name, self._ttl_ms))

    async def release(self) -> bool:
        """Give the lease back; False: it was no longer ours."""
        return await self._if_ours(lambda pipe: pipe.delete(self._name))

    async def keep_renewed(self) -> None:
        """Renew the lease in time, again and again, until it is lost or the task is cancelled."""
        while True:
            await asyncio.sleep(self._ttl_ms / 1000 / RENEWALS)
            with suppress(MemoryUnavailable):
                if not await self.renew():
                    return

    @asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """Hold the lease for the block, renewing it; the block gets False when there is another holder."""
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
