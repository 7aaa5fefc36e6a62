"""All users' reminders in Redis.

    user:{id}:reminders               hash: reminder's id → the record as JSON
    user:{id}:reminder:{id}:taken     the lease of the process that delivers it
    reminders:due                     sorted set: user and id → the second at which something is to be done about it

A record and its place in the sorted set change in one transaction. Every change is an `update`: read, decide (in pure
code, see `reminders`), write unless somebody else wrote meanwhile. Every method may raise `MemoryUnavailable`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.exceptions import WatchError

from backend.errors import MemoryUnavailable, TooMany
from backend.notifications.reminders import Reminder
from backend.storage.guard import Guard

log = logging.getLogger(__name__)

DUE = "reminders:due"
BUSY_S = 86_400
"""Seconds after which a caller with too many reminders may try again: when one is over, which may take long."""

ReminderKey = tuple[str, str]
"""A reminder's owner and id."""
Update = Callable[[Reminder], Reminder | None]
"""A record → what becomes of it, None to delete it. May be called more than once."""
_decoder = msgspec.json.Decoder(Reminder)


class ReminderRepository:
    """The reminders, as one process has them."""

    def __init__(self, redis: Redis, *, per_user: int = 100, lease_s: float = 10.0) -> None:
        self._redis = redis
        self._per_user = per_user
        self._lease_ms = round(lease_s * 1000)
        self._holder = secrets.token_hex(6)
        self._guard = Guard()

    def __repr__(self) -> str:
        return f"ReminderRepository({self._holder}, {self._guard})"

    # --- what users do ----------------------------------------------------------------------------------

    async def add(self, reminder: Reminder) -> Reminder:
        """Keep it and return it; a kept one of the same id stays and is returned instead. Raises `TooMany`."""
        kept: Reminder = await self._guard(lambda: self._add(reminder))
        return kept

    async def all_of(self, owner: str) -> list[Reminder]:
        """Return all of a user's, the next one first."""
        raw = await self._guard(lambda: self._redis.hvals(_records(owner)))
        return sorted((_decode(value) for value in raw), key=lambda reminder: reminder.due or reminder.at)

    async def get(self, owner: str, reminder_id: str) -> Reminder | None:
        """Return one of them; None when there is no such one."""
        raw = await self._guard(lambda: self._redis.hget(_records(owner), reminder_id))
        return None if raw is None else _decode(raw)

    async def remove(self, owner: str, reminder_id: str) -> Reminder | None:
        """Delete one and return what it was; None when there is no such one."""
        removed: list[Reminder] = []

        def note(reminder: Reminder) -> None:
            removed[:] = [reminder]

        await self.update(owner, reminder_id, note)
        return removed[0] if removed else None

    async def erase(self, owner: str) -> None:
        """Delete everything of that user."""
        ids = [key.decode() for key in await self._guard(lambda: self._redis.hkeys(_records(owner)))]
        pipe = self._redis.pipeline(transaction=True)
        pipe.delete(_records(owner), *(_lease(owner, each) for each in ids))
        if ids:
            pipe.zrem(DUE, *(_member(owner, each) for each in ids))
        await self._guard(pipe.execute)

    # --- what their delivery does -----------------------------------------------------------------------

    async def due(self, now: float, limit: int) -> tuple[list[ReminderKey], float | None]:
        """Return those about which something is to be done by `now`, and when the next one after them is."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.zrangebyscore(DUE, "-inf", now, start=0, num=limit)
        pipe.zrangebyscore(DUE, f"({now}", "+inf", start=0, num=1, withscores=True)
        ready, later = await self._guard(pipe.execute)
        return [_key(member) for member in ready], float(later[0][1]) if later else None

    async def update(self, owner: str, reminder_id: str, update: Update) -> Reminder | None:
        """Change a record and return what it has become; None when it is gone, or was not there."""
        changed: Reminder | None = await self._guard(lambda: self._update(owner, reminder_id, update))
        return changed

    @asynccontextmanager
    async def lease(self, owner: str, reminder_id: str) -> AsyncIterator[bool]:
        """Hold the lease of its delivery until the block is left. Yields False when another process holds it."""
        key = _lease(owner, reminder_id)
        ours = bool(await self._guard(lambda: self._redis.set(key, self._holder, nx=True, px=self._lease_ms)))
        if not ours:
            yield False
            return
        renewing = asyncio.create_task(self._renew(key), name="a reminder's lease")
        try:
            yield True
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            with suppress(MemoryUnavailable):
                await self._guard(lambda: self._release(key))

    async def _add(self, reminder: Reminder) -> Reminder:
        key = _records(reminder.owner)
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(key)
                there = await pipe.hget(key, reminder.id)
                if there is not None:
                    return _decode(there)
                if await pipe.hlen(key) >= self._per_user:
                    raise TooMany(
                        f"There are {self._per_user} reminders already.",
                        retry_after_s=BUSY_S,
                        hint="Cancel some that are not needed any more.",
                    )
                pipe.multi()  # type: ignore[no-untyped-call]
                _write(pipe, reminder)
                with suppress(WatchError):
                    await pipe.execute()
                    return reminder

    async def _update(self, owner: str, reminder_id: str, update: Update) -> Reminder | None:
        key = _records(owner)
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(key)
                raw = await pipe.hget(key, reminder_id)
                before = None if raw is None else _decode(raw)
                after = None if before is None else update(before)
                if before is not None and after == before:
                    return after
                pipe.multi()  # type: ignore[no-untyped-call]
                if after is None:
                    pipe.hdel(key, reminder_id)
                    pipe.zrem(DUE, _member(owner, reminder_id))
                else:
                    _write(pipe, after)
                with suppress(WatchError):
                    await pipe.execute()
                    return after

    async def _renew(self, key: str) -> None:
        while True:
            await asyncio.sleep(self._lease_ms / 4_000)
            with suppress(MemoryUnavailable):
                await self._guard(lambda: self._redis.pexpire(key, self._lease_ms))

    async def _release(self, key: str) -> None:
        async with self._redis.pipeline(transaction=True) as pipe:
            await pipe.watch(key)
            if await pipe.get(key) != self._holder.encode():
                return
            pipe.multi()  # type: ignore[no-untyped-call]
            pipe.delete(key)
            with suppress(WatchError):
                await pipe.execute()


def exported(reminders: Sequence[Reminder]) -> list[dict[str, Any]]:
    """Return reminders as JSON data for their user to take away."""
    return [reminder.to_json() | {"created_at": reminder.created_at} for reminder in reminders]


def _write(pipe: Any, reminder: Reminder) -> None:
    pipe.hset(_records(reminder.owner), reminder.id, msgspec.json.encode(reminder))
    pipe.zadd(DUE, {_member(reminder.owner, reminder.id): reminder.wakes_at})


def _decode(raw: bytes | str) -> Reminder:
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise MemoryUnavailable("Memory holds a reminder this server cannot read.") from error


def _member(owner: str, reminder_id: str) -> str:
    return f"{owner} {reminder_id}"


def _key(member: bytes) -> ReminderKey:
    owner, _, reminder_id = member.decode().rpartition(" ")
    return owner, reminder_id


def _records(owner: str) -> str:
    return f"user:{owner}:reminders"


def _lease(owner: str, reminder_id: str) -> str:
    return f"user:{owner}:reminder:{reminder_id}:taken"
