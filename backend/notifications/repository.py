"""The repository keeps all users' reminders in Redis.

    user:{id}:reminders               hash: reminder's id → the record as JSON
    reminders:due                     sorted set: user and id → the second of the next action

A record and its place in the sorted set change in one transaction. Every change is an `update`: read, decide in pure
code (`reminders`), and write unless another write was faster. Fields that only a newer version knows are ignored, so a
new field needs a default. Every method may raise `MemoryUnavailable`.
"""

from collections.abc import Callable

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable, TooMany
from backend.notifications.reminders import Reminder
from backend.runtime.faults import decode_all, decode_or_skip
from backend.storage.client import Pipe, RedisStore

DUE = "reminders:due"
BUSY_S = 86_400
"""Seconds after which a caller with too many reminders may try again, since one must end first."""

ReminderKey = tuple[str, str]
"""A reminder's owner and id."""
_decoder = msgspec.json.Decoder(Reminder)
_records = "user:{}:reminders".format
_member = "{} {}".format


class UnreadableReminder(MemoryUnavailable):
    """This version cannot decode a stored reminder, and leaves it for one that can."""


class ReminderRepository(RedisStore):
    """The reminders of all users."""

    def __init__(self, redis: Redis, *, per_user: int = 100) -> None:
        super().__init__(redis)
        self._per_user = per_user

    async def add(self, reminder: Reminder) -> Reminder:
        """Keep a reminder, and return it, or the existing one with the same id. Raises `TooMany`."""
        key = _records(reminder.owner)

        async def read(pipe: Pipe) -> dict[bytes, bytes]:
            records: dict[bytes, bytes] = await pipe.hgetall(key)
            return records

        def write(pipe: Pipe, records: dict[bytes, bytes]) -> Reminder:
            if there := records.get(reminder.id.encode()):
                return _decode(there)
            known = decode_all("reminder", records.values(), _decoder.decode)
            if sum(not each.resolved for each in known) >= self._per_user:
                raise TooMany(
                    f"There are already {self._per_user} reminders and notes.",
                    retry_after_s=BUSY_S,
                    hint="Cancel some that are no longer needed.",
                )
            _write(pipe, reminder)
            return reminder

        return await self._client.transact(key, read=read, write=write)

    async def all_of(self, owner: str) -> list[Reminder]:
        """Return all of a user's reminders and notes, the next one first."""
        raw = await self._client.call(lambda redis: redis.hvals(_records(owner)))
        reminders = decode_all("reminder", raw, _decoder.decode)
        return sorted(reminders, key=lambda reminder: reminder.due or reminder.at)

    async def unreadable_of(self, owner: str) -> list[bytes]:
        """Return the user's records that cannot be decoded here, as they are stored."""
        raw = await self._client.call(lambda redis: redis.hvals(_records(owner)))
        return [each for each in raw if decode_or_skip("reminder", each, _decoder.decode) is None]

    async def get(self, owner: str, reminder_id: str) -> Reminder | None:
        """Return a user's reminder; None when the user has none with that id."""
        raw = await self._client.call(lambda redis: redis.hget(_records(owner), reminder_id))
        return None if raw is None else _decode(raw)

    async def remove(self, owner: str, reminder_id: str) -> Reminder | None:
        """Delete a reminder, and return it; None when it does not exist."""
        return (await self.update(owner, reminder_id, lambda _: None))[0]

    async def erase(self, owner: str) -> None:
        """Delete all reminders of that user."""
        ids = [key.decode() for key in await self._client.call(lambda redis: redis.hkeys(_records(owner)))]
        pipe = self._client.pipeline()
        pipe.delete(_records(owner))
        if ids:
            pipe.zrem(DUE, *(_member(owner, each) for each in ids))
        await self._client.execute(pipe)

    async def due(self, now: float, limit: int) -> tuple[list[ReminderKey], float | None]:
        """Return the reminders that need handling at `now`, and the time of the next one."""
        pipe = self._client.pipeline(transaction=False)
        pipe.zrangebyscore(DUE, "-inf", now, start=0, num=limit)
        pipe.zrangebyscore(DUE, f"({now}", "+inf", start=0, num=1, withscores=True)
        ready, later = await self._client.execute(pipe)
        return [_key(member) for member in ready], float(later[0][1]) if later else None

    async def put_off(self, key: ReminderKey, until: float) -> None:
        """Leave a reminder alone until the second `until`."""
        await self._client.call(lambda redis: redis.zadd(DUE, {_member(*key): until}, xx=True))

    async def update(
        self, owner: str, reminder_id: str, update: Callable[[Reminder], Reminder | None]
    ) -> tuple[Reminder | None, Reminder | None]:
        """Change a record by `update`, which may be called more than once; None deletes the record.

        Returns the record before and after the change; None: there is none.
        """
        key = _records(owner)

        def write(pipe: Pipe, raw: bytes | None) -> tuple[Reminder | None, Reminder | None]:
            before = None if raw is None else _decode(raw)
            after = None if before is None else update(before)
            if after is None:
                pipe.hdel(key, reminder_id)
                pipe.zrem(DUE, _member(owner, reminder_id))
            elif after != before:
                _write(pipe, after)
            return before, after

        return await self._client.transact(key, read=lambda pipe: pipe.hget(key, reminder_id), write=write)


def _write(pipe: Pipe, reminder: Reminder) -> None:
    """Queue the record and its place in the schedule."""
    pipe.hset(_records(reminder.owner), reminder.id, msgspec.json.encode(reminder))
    if reminder.wakes_at:
        pipe.zadd(DUE, {_member(reminder.owner, reminder.id): reminder.wakes_at})
    else:
        pipe.zrem(DUE, _member(reminder.owner, reminder.id))


def _decode(raw: bytes) -> Reminder:
    """Return the decoded record. Raises `UnreadableReminder`, since one that cannot be read must not be changed."""
    reminder = decode_or_skip("reminder", raw, _decoder.decode)
    if reminder is None:
        raise UnreadableReminder("This server cannot read the reminder.", hint="A newer version may have written it.")
    return reminder


def _key(member: bytes) -> ReminderKey:
    owner, _, reminder_id = member.decode().rpartition(" ")
    return owner, reminder_id
