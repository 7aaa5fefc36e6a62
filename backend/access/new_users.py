"""The data of new users expires soon, unless they return as users who have proven themselves.

    user:{id}:new   there while the user is new: from their first visit on, for BUDGETS__PROVEN_AFTER_H

Stores keep users' data without a limit, or for USER_RETENTION_DAYS. This looks after those who were active in the last
minutes: what a new user has written expires after `keep_s`; of one who is not new any more it is kept like anybody's.
A user without the mark is never taken for new, so a Redis that has lost the mark costs no data.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.storage.client import RedisStore

LOOK_EVERY_S = 20.0
ACTIVE_S = 900.0
"""Seconds after their last request in which a user's data is looked at: calls and turns write a little later."""
USERS_LIMIT = 2_000
"""Active users that are looked at; of more, those active longest ago are left out."""
DATA = ("context", "memories", "reminders")
"""The names of a user's keys that stores keep for longer than new users are worth."""

mark_key = "user:{}:new".format


class NewUsers(RedisStore):
    """Knows who is new, and has their data expire; `now` gives seconds of a steady clock."""

    def __init__(
        self,
        redis: Redis,
        *,
        new_s: float,
        keep_s: float,
        retention_s: int | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Users are new for `new_s`; `retention_s` is how long others' data is kept, None: for good."""
        super().__init__(redis)
        self._new_s = round(new_s)
        self._keep_s = round(keep_s)
        self._retention_s = retention_s
        self._now = now
        self._active: OrderedDict[str, float] = OrderedDict()

    async def mark(self, user_id: str) -> None:
        """Note that the user is new. Raises `MemoryUnavailable`."""
        if self._new_s and self._keep_s:
            await self._client.call(lambda redis: redis.set(mark_key(user_id), "1", ex=self._new_s))

    def touch(self, user_id: str) -> None:
        """Note that the user is active. Never waits."""
        self._active[user_id] = self._now()
        self._active.move_to_end(user_id)
        if len(self._active) > USERS_LIMIT:
            self._active.popitem(last=False)

    async def run(self) -> None:
        """Look after the data of active users, again and again, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            with suppress(MemoryUnavailable):
                await self.look()

    async def look(self) -> None:
        """Have new users' data expire, and keep that of others. Raises `MemoryUnavailable`."""
        since = self._now() - ACTIVE_S
        for user in [user for user, at in self._active.items() if at < since]:
            del self._active[user]
        users = list(self._active)
        if not users or not self._keep_s:
            return
        pipe = self._client.pipeline(transaction=False)
        for user in users:
            pipe.exists(mark_key(user))
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
