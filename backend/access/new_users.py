"""The data of new users expires soon, unless they return as users who have proven themselves.

Stores keep users' data without a limit, or for USER_RETENTION_DAYS. This looks after those who were active in the last
minutes: what a new user has written expires after `keep_s`; of one who is not new any more it is kept like anybody's.
A user without the mark is never taken for new, so a Redis that has lost the mark costs no data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from redis.asyncio import Redis

from backend.access.billing import new_key
from backend.errors import MemoryUnavailable
from backend.storage.client import RedisStore

LOOK_EVERY_S = 20.0
ACTIVE_S = 900.0
"""Seconds after their last request in which a user's data is looked at: calls and turns write a little later."""
DATA = ("context", "memories", "reminders")
"""The names of a user's keys that stores keep for longer than new users are worth."""


class NewUserData(RedisStore):
    """Has the data of new users expire."""

    def __init__(
        self, redis: Redis, active: Callable[[float], list[str]], *, keep_s: float, retention_s: int | None
    ) -> None:
        """`active` gives the users of the last seconds; `retention_s` is how long others' data is kept, None: for good.

        `keep_s` is how long that of new users is; 0: as others'.
        """
        super().__init__(redis)
        self._active = active
        self._keep_s = round(keep_s)
        self._retention_s = retention_s

    async def run(self) -> None:
        """Look after the data of active users, again and again, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            with suppress(MemoryUnavailable):
                await self.look()

    async def look(self) -> None:
        """Have new users' data expire, and keep that of others. Raises `MemoryUnavailable`."""
        users = self._active(ACTIVE_S) if self._keep_s else []
        if not users:
            return
        pipe = self._client.pipeline(transaction=False)
        for user in users:
            pipe.exists(new_key(user))
            for key in _data_of(user):
                pipe.ttl(key)
        answers = iter(await self._client.execute(pipe))
        change = self._client.pipeline(transaction=False)
        for user in users:
            is_new = bool(next(answers))
            for key in _data_of(user):
                left_s = int(next(answers))  # -1: kept for good, -2: not there
                if is_new and (left_s == -1 or left_s > self._keep_s):
                    change.expire(key, self._keep_s)
                elif not is_new and 0 <= left_s <= self._keep_s and self._retention_s is None:
                    change.persist(key)
                elif not is_new and 0 <= left_s <= self._keep_s:
                    change.expire(key, self._retention_s)
        if change.command_stack:
            await self._client.execute(change)


def _data_of(user_id: str) -> list[str]:
    return [f"user:{user_id}:{name}" for name in DATA]
