"""Notices: what a user is to be told without having asked just now, kept in Redis until it was delivered.

    user:{id}:notices         hash: notice id → the notice as JSON; at most NOTICES_LIMIT, for NOTICE_TTL_S
    user:{id}:notices:told    sorted set: id → the second it is forgotten; an id in it is never taken again
    user:{id}:teller          the active call, which alone speaks notices, under a lease it renews

A notice is added once per id, however often its maker tries; it is deleted when it was delivered, and not before. When
there are too many the oldest goes, which the log says. Every method may raise `MemoryUnavailable`.
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
"""Seconds notices wait, counted from the newest."""
DELIVERED_TTL_S = 2 * 86_400
"""Seconds the id of a delivered notice is known: longer than anybody tries to add it again."""
LEASE_S = 30
"""Seconds a call stays the active one after its last renewal; it renews three times in that."""
TEXT_LIMIT = 2_000
"""Characters of one notice, which is to be spoken; the rest is cut."""

LATE_S = 120
"""Seconds after which a reminder is late."""
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))

NoticeKind = Literal["result", "decision", "reminder", "note"]


class Notice(msgspec.Struct, frozen=True):
    """One thing to tell a user. Its maker chooses the id: it is delivered once, however often it is added."""

    id: str
    text: str
    kind: NoticeKind = "result"
    source: str = ""
    """The task it comes from, if any."""
    at: float = msgspec.field(default_factory=time.time)
    """Unix time in seconds."""


def spoken_text(notice: Notice, now: float) -> str:
    """Return what the Responder is given to say at `now`: a reminder that comes late says so."""
    late_s = now - notice.at
    if notice.kind != "reminder" or late_s < LATE_S:
        return notice.text
    count, unit = next((late_s // seconds, unit) for seconds, unit in UNITS if late_s >= seconds)
    return f"{notice.text} (It was due {count:.0f} {unit}{'' if count == 1 else 's'} ago.)"


class Notifier(Protocol):
    """How other rooms have a notice delivered: see `notifications.dispatcher`."""

    async def notify(self, user_id: str, notice: Notice) -> None:
        """Have it spoken on the user's live call, else on the next. Raises `MemoryUnavailable`: try again."""
        ...


class NoticeRepository:
    """The notices of all users."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._guard = Guard()

    def __repr__(self) -> str:
        return f"NoticeRepository({self._guard})"

    async def add(self, user_id: str, notice: Notice) -> bool:
        """Keep a notice until it is delivered. Return False when it waits already, or was delivered."""
        added: bool = await self._guard(lambda: self._add(user_id, _cut(notice)))
        return added

    async def waiting(self, user_id: str) -> list[Notice]:
        """Return all that waits to be delivered, oldest first."""
        raw = await self._guard(lambda: self._redis.hvals(_waiting(user_id)))
        return sorted((_decode(value) for value in raw), key=lambda notice: notice.at)

    async def remove(self, user_id: str, notice_id: str) -> bool:
        """Delete a notice that was delivered, or need not be. Return whether it was there."""
        now = time.time()
        pipe = self._redis.pipeline(transaction=True)
        pipe.hdel(_waiting(user_id), notice_id)
        pipe.zadd(_delivered(user_id), {notice_id: now + DELIVERED_TTL_S})
        pipe.zremrangebyscore(_delivered(user_id), "-inf", now)
        pipe.expire(_delivered(user_id), DELIVERED_TTL_S)
        removed = await self._guard(pipe.execute)
        return bool(removed[0])

    async def is_delivered(self, user_id: str, notice_id: str) -> bool:
        """Return whether a notice was delivered, or removed for another reason."""
        return await self._guard(lambda: self._redis.zscore(_delivered(user_id), notice_id)) is not None

    async def activate(self, user_id: str, call: str) -> None:
        """Make `call` the active one: the newest call is where the user is."""
        await self._guard(lambda: self._redis.set(_active(user_id), call, ex=LEASE_S))

    async def keep_active(self, user_id: str, call: str) -> bool:
        """Renew the lease of `call`, or take it when no call has it. Return whether `call` is the active one."""
        held: bool = await self._guard(lambda: self._hold(user_id, call))
        return held

    async def has_active_call(self, user_id: str) -> bool:
        """Return whether a call of that user is there to speak notices."""
        return bool(await self._guard(lambda: self._redis.exists(_active(user_id))))

    async def deactivate(self, user_id: str, call: str) -> None:
        """Release the lease of `call`, if it has it."""
        await self._guard(lambda: self._leave(user_id, call))

    async def export(self, user_id: str) -> list[dict[str, Any]]:
        """Return all notices of a user as JSON data, for the user to take away."""
        return [msgspec.to_builtins(notice) for notice in await self.waiting(user_id)]

    async def erase(self, user_id: str) -> None:
        """Delete all notices of a user, and that there were any."""
        await self._guard(lambda: self._redis.delete(_waiting(user_id), _delivered(user_id), _active(user_id)))

    async def _add(self, user_id: str, notice: Notice) -> bool:
        waiting, delivered = _waiting(user_id), _delivered(user_id)

        async def change(pipe: Any) -> bool:
            if await pipe.zscore(delivered, notice.id) is not None or await pipe.hexists(waiting, notice.id):
                return False
            kept = [_decode(value) for value in await pipe.hvals(waiting)]
            surplus = sorted(kept, key=lambda old: old.at)[: max(0, len(kept) + 1 - NOTICES_LIMIT)]
            pipe.multi()
            for old in surplus:
                log.warning("a user's oldest notice was dropped undelivered: more than %d wait", NOTICES_LIMIT)
                pipe.hdel(waiting, old.id)
            pipe.hset(waiting, notice.id, msgspec.json.encode(notice))
            pipe.expire(waiting, NOTICE_TTL_S)
            return True

        return await self._watched((waiting, delivered), change)

    async def _hold(self, user_id: str, call: str) -> bool:
        key = _active(user_id)
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
        key = _active(user_id)

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


def _delivered(user_id: str) -> str:
    return f"user:{user_id}:notices:told"


def _active(user_id: str) -> str:
    return f"user:{user_id}:teller"
