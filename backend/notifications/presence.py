"""Presence: which users have a page open, in any process.

    user:{id}:pages    sorted set: stream → the second it lapses

A stream is marked open again with every heartbeat; one of a process that died lapses by itself.
"""

from __future__ import annotations

import time
from contextlib import suppress

from backend.errors import MemoryUnavailable
from backend.storage.client import RedisStore

LAPSES_S = 40
"""Seconds a page counts as open after it was last marked so: more than two heartbeats of its stream."""

_pages = "user:{}:pages".format


class Presence(RedisStore):
    """The open pages of all users."""

    async def mark_open(self, user_id: str, stream: str) -> None:
        """Mark that stream as open for now. Never fails: a heartbeat marks it again when Redis was away."""
        now = time.time()
        pipe = self._client.pipeline()
        pipe.zremrangebyscore(_pages(user_id), "-inf", now)
        pipe.zadd(_pages(user_id), {stream: now + LAPSES_S})
        pipe.expire(_pages(user_id), LAPSES_S)
        with suppress(MemoryUnavailable):
            await self._client.execute(pipe)

    async def mark_closed(self, user_id: str, stream: str) -> None:
        """Forget a stream that is over. Never fails: it lapses anyway."""
        with suppress(MemoryUnavailable):
            await self._client.call(lambda redis: redis.zrem(_pages(user_id), stream))

    async def is_open(self, user_id: str) -> bool:
        """Return whether that user has a page open in any process. Raises `MemoryUnavailable`."""
        return bool(await self._client.call(lambda redis: redis.zcount(_pages(user_id), time.time(), "+inf")))
