"""Which visitors a user was before they signed in, in Redis, so that a merge which stopped halfway is completed.

    merges:{hash}   hash: visitor's id → the Unix second until which every sign-in moves their data; `inf`: not done yet

A visitor whose data was moved is looked at for another day: their last call or turn may write a little after it ended.
Then they stay listed for as long as the user may come back, since an erasure reaches traces and webhooks under the old
id as well. Only one sign-in at a time moves a visitor's data.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from backend.storage.client import Lease, Pipe, RedisStore

log = logging.getLogger(__name__)

KEEP_S = 410 * 86_400
"""Seconds the list is kept after the latest sign-in: longer than any cookie lives."""
LATE_WRITES_S = 86_400.0
"""Seconds after a merge in which the next sign-in looks for what was written since."""
VISITORS_LIMIT = 20
"""Visitors listed of one user; of more, the one merged longest ago is dropped."""
LEASE_S = 3.0
"""Seconds after which the claim of a sign-in is void whose process has died."""
LOOK_AGAIN_S = 0.1


class Merges(RedisStore):
    """The visitors of all users. Methods may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis, clock: Callable[[], float] = time.time) -> None:
        super().__init__(redis)
        self._clock = clock

    async def note(self, user: str, visitor: str) -> None:
        """Note that the visitor's data is to become the user's."""
        key = _key(user)

        def write(pipe: Pipe, known: dict[bytes, bytes]) -> None:
            others = sorted((float(until), name) for name, until in known.items() if name != visitor.encode())
            for _, name in others[: max(0, len(others) + 1 - VISITORS_LIMIT)]:
                log.warning("a user has signed in as more than %d visitors: the oldest is left out", VISITORS_LIMIT)
                pipe.hdel(key, name)
            pipe.hset(key, visitor, str(math.inf))
            pipe.expire(key, KEEP_S)

        await self._client.transact(key, read=lambda pipe: pipe.hgetall(key), write=write)

    async def visitors(self, user: str) -> list[str]:
        """Return every visitor that became this user."""
        return [name.decode() for name in await self._client.call(lambda redis: redis.hkeys(_key(user)))]

    async def unfinished(self, user: str) -> list[str]:
        """Return the visitors whose data a sign-in has to move."""
        known = await self._client.call(lambda redis: redis.hgetall(_key(user)))
        now = self._clock()
        return [name.decode() for name, until in known.items() if float(until) > now]

    async def finish(self, user: str, visitor: str) -> None:
        """Note that all of the visitor's data was moved; does nothing when that was noted before."""
        key = _key(user)

        def write(pipe: Pipe, until: bytes | None) -> None:
            if until is not None and math.isinf(float(until)):
                pipe.hset(key, visitor, f"{self._clock() + LATE_WRITES_S:.0f}")

        await self._client.transact(key, read=lambda pipe: pipe.hget(key, visitor), write=write)

    async def erase(self, user: str) -> None:
        """Forget which visitors the user was."""
        await self._client.call(lambda redis: redis.delete(_key(user)))

    @asynccontextmanager
    async def alone(self, visitor: str) -> AsyncIterator[None]:
        """Move the visitor's data within the block, which waits until no other sign-in does."""
        lease = Lease(self._client, f"{_key(visitor)}:taken", LEASE_S)
        while True:
            async with lease.held() as ours:
                if ours:
                    yield
                    return
            await asyncio.sleep(LOOK_AGAIN_S)


def _key(user: str) -> str:
    return f"merges:{hashlib.sha256(user.encode()).hexdigest()[:32]}"
