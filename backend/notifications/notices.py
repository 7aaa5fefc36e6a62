"""What has to be told to a user and was not asked for just now: kept in Redis until it has been told.

    user:{id}:notices         hash: notice id → the notice as JSON; at most NOTICES_LIMIT, for NOTICE_TTL_S
    user:{id}:notices:told    sorted set: id → the second it is forgotten; an id in it is never taken again
    user:{id}:teller          the one live call that tells, while it says so again every few seconds

A notice is put once per id, however often whoever has it tries; it is deleted when it was told, and not before. When
there are too many the oldest goes, which is said in the log. Everything may raise `MemoryUnavailable`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

import msgspec
from redis.asyncio import Redis
from redis.exceptions import WatchError

from backend.errors import MemoryUnavailable
from backend.storage.guard import Guard

log = logging.getLogger(__name__)

NOTICES_LIMIT = 50
"""Notices waiting for one user, at most."""
NOTICE_TTL_S = 14 * 86_400
"""How long they wait, counted from the newest."""
TOLD_TTL_S = 2 * 86_400
"""How long the id of a told one is known: longer than anybody tries to put it again."""
LEASE_S = 30
"""Seconds a call is the teller after it last said so; all calls say so three times in that."""
TEXT_LIMIT = 2_000
"""Characters of one notice; the rest is cut. It is to be spoken, after all."""

LATE_S = 120
"""Seconds after which a reminder is late."""
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))

NoticeKind = Literal["result", "decision", "reminder", "note"]


class Notice(msgspec.Struct, frozen=True):
    """One thing to tell. The id is its maker's: the same one is told once, however often it is put."""

    id: str
    text: str
    kind: NoticeKind = "result"
    source: str = ""
    """The task it comes from, if any."""
    at: float = msgspec.field(default_factory=time.time)
    """Unix time in seconds."""


def as_told(notice: Notice, now: float) -> str:
    """What the Responder is given to tell at `now`: a reminder that comes late says so."""
    late_s = now - notice.at
    if notice.kind != "reminder" or late_s < LATE_S:
        return notice.text
    count, unit = next((late_s // seconds, unit) for seconds, unit in UNITS if late_s >= seconds)
    return f"{notice.text} (It was due {count:.0f} {unit}{'' if count == 1 else 's'} ago.)"


class Tells(Protocol):
    """How other rooms have something told: see `notifications.dispatcher`."""

    async def tell(self, user_id: str, notice: Notice) -> None:
        """Tell it on the user's live call, else on the next. Raises `MemoryUnavailable`: try again."""
        ...


class NoticeStore:
    """All users' notices."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._guard = Guard()

    def __repr__(self) -> str:
        return f"NoticeStore({self._guard})"

    async def put(self, user_id: str, notice: Notice) -> bool:
        """Keep it until it is told. False: it waits already, or was told."""
        kept: bool = await self._guard(lambda: self._put(user_id, _cut(notice)))
        return kept

    async def waiting(self, user_id: str) -> list[Notice]:
        """All that waits to be told, oldest first."""
        raw = await self._guard(lambda: self._redis.hvals(_waiting(user_id)))
        return sorted((_decode(value) for value in raw), key=lambda notice: notice.at)

    async def remove(self, user_id: str, notice_id: str) -> bool:
        """It was told, or need not be told any more. Whether it was there."""
        now = time.time()
        pipe = self._redis.pipeline(transaction=True)
        pipe.hdel(_waiting(user_id), notice_id)
        pipe.zadd(_told(user_id), {notice_id: now + TOLD_TTL_S})
        pipe.zremrangebyscore(_told(user_id), "-inf", now)
        pipe.expire(_told(user_id), TOLD_TTL_S)
        removed = await self._guard(pipe.execute)
        return bool(removed[0])

    async def told(self, user_id: str, notice_id: str) -> bool:
        """Whether it was told, or is not to be told any more."""
        return await self._guard(lambda: self._redis.zscore(_told(user_id), notice_id)) is not None

    async def take_floor(self, user_id: str, call: str) -> None:
        """From now on `call` is the one that tells: the newest call is where the user is."""
        await self._guard(lambda: self._redis.set(_teller(user_id), call, ex=LEASE_S))

    async def holds_floor(self, user_id: str, call: str) -> bool:
        """Whether `call` is still the one that tells, or is so again because nobody else is; renews that."""
        held: bool = await self._guard(lambda: self._hold(user_id, call))
        return held

    async def has_teller(self, user_id: str) -> bool:
        """Whether a call is there to tell."""
        return bool(await self._guard(lambda: self._redis.exists(_teller(user_id))))

    async def leave_floor(self, user_id: str, call: str) -> None:
        """`call` tells no more."""
        await self._guard(lambda: self._leave(user_id, call))

    async def export(self, user_id: str) -> list[dict[str, Any]]:
        """For the user to take away."""
        return [msgspec.to_builtins(notice) for notice in await self.waiting(user_id)]

    async def erase(self, user_id: str) -> None:
        """Nothing is left of it."""
        await self._guard(lambda: self._redis.delete(_waiting(user_id), _told(user_id), _teller(user_id)))

    async def _put(self, user_id: str, notice: Notice) -> bool:
        waiting, told = _waiting(user_id), _told(user_id)

        async def change(pipe: Any) -> bool:
            if await pipe.zscore(told, notice.id) is not None or await pipe.hexists(waiting, notice.id):
                return False
            kept = [_decode(value) for value in await pipe.hvals(waiting)]
            surplus = sorted(kept, key=lambda old: old.at)[: max(0, len(kept) + 1 - NOTICES_LIMIT)]
            pipe.multi()
            for old in surplus:
                log.warning("a user's oldest notice was dropped untold: more than %d wait", NOTICES_LIMIT)
                pipe.hdel(waiting, old.id)
            pipe.hset(waiting, notice.id, msgspec.json.encode(notice))
            pipe.expire(waiting, NOTICE_TTL_S)
            return True

        return await self._watched((waiting, told), change)

    async def _hold(self, user_id: str, call: str) -> bool:
        key = _teller(user_id)
        if await self._redis.get(key) == call.encode():  # as always; who takes over just now is renewed instead
            return bool(await self._redis.expire(key, LEASE_S))

        async def change(pipe: Any) -> bool:
            holder = await pipe.get(key)
            pipe.multi()
            if holder is not None and holder.decode() != call:
                return False
            pipe.set(key, call, ex=LEASE_S)
            return True

        return await self._watched((key,), change)

    async def _leave(self, user_id: str, call: str) -> bool:
        key = _teller(user_id)

        async def change(pipe: Any) -> bool:
            holder = await pipe.get(key)
            pipe.multi()
            if holder is None or holder.decode() != call:
                return False
            pipe.delete(key)
            return True

        return await self._watched((key,), change)

    async def _watched(self, names: tuple[str, ...], change: Callable[[Any], Awaitable[bool]]) -> bool:
        """`change` reads, then queues what it wants done; again when somebody else wrote in between."""
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(*names)
                try:
                    changed = await change(pipe)
                    if changed:
                        await pipe.execute()
                except WatchError:
                    continue
                return changed


def _cut(notice: Notice) -> Notice:
    if len(notice.text) <= TEXT_LIMIT:
        return notice
    return msgspec.structs.replace(notice, text=notice.text[: TEXT_LIMIT - 1] + "…")


def _decode(raw: bytes) -> Notice:
    try:
        return msgspec.json.decode(raw, type=Notice)
    except msgspec.DecodeError as error:
        raise MemoryUnavailable("Memory holds a notice this server cannot read.") from error


def _waiting(user_id: str) -> str:
    return f"user:{user_id}:notices"


def _told(user_id: str) -> str:
    return f"user:{user_id}:notices:told"


def _teller(user_id: str) -> str:
    return f"user:{user_id}:teller"
