"""Notices are messages that a user hears unasked. Redis keeps them until they are delivered.

    user:{id}:notices         hash: notice id → the notice as JSON; at most NOTICES_LIMIT, for NOTICE_TTL_S
    user:{id}:notices:told    sorted set: id → the second it is forgotten; an id in it is never added again
    user:{id}:teller          the active call, which alone speaks notices, under a lease it renews

A notice is added once for each id, even if its maker repeats the call, and deleted only after its delivery. Beyond the
limit the oldest is dropped and logged. Undecodable notices are skipped and counted. Fields that only a newer version
knows are ignored, so a new field needs a default. Every method may raise `MemoryUnavailable`.
"""

import logging
import time
from collections.abc import Iterable
from typing import Literal

import msgspec

from backend.runtime.faults import decode_all
from backend.storage.client import Lease, Pipe, RedisStore
from backend.storage.record_format import FORMAT, Format

log = logging.getLogger(__name__)

NOTICES_LIMIT = 50
"""The most notices that wait for one user."""
NOTICE_TTL_S = 14 * 86_400
"""Seconds notices wait, counted from the newest."""
DELIVERED_TTL_S = 2 * 86_400
"""Seconds the id of a delivered notice is remembered: longer than its maker tries to add it."""
LEASE_S = 30
"""Seconds a call stays the active one after its last renewal; it renews three times in that."""
TEXT_LIMIT = 2_000
"""The most characters of one notice, since it is spoken; the rest is cut."""

LATE_S = 120
"""Seconds after which a reminder is late."""

_waiting = "user:{}:notices".format
_delivered = "user:{}:notices:told".format
_active = "user:{}:teller".format

NoticeKind = Literal["result", "decision", "reminder"]


class Notice(msgspec.Struct, frozen=True):
    """One message for a user. Its maker chooses the id. It is delivered once, even if it is added again."""

    id: str
    text: str
    kind: NoticeKind = "result"
    source: str = ""
    """The id of its task or reminder, if any."""
    at: float = msgspec.field(default_factory=time.time)
    """Unix time in seconds."""
    interruptible: bool = True
    """False when the caller's voice must not interrupt the reply that speaks it."""
    format: Format = FORMAT


_decoder = msgspec.json.Decoder(Notice)


def spoken_text(notice: Notice, now: float) -> str:
    """Return the text for the Responder at `now`; a late reminder says that it is late."""
    late_s = now - notice.at
    if notice.kind != "reminder" or late_s < LATE_S:
        return notice.text
    units = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
    count, unit = next((late_s // seconds, unit) for seconds, unit in units if late_s >= seconds)
    return f"{notice.text} (It was due {count:.0f} {unit}{'' if count == 1 else 's'} ago.)"


class NoticeRepository(RedisStore):
    """The notices of all users."""

    async def add(self, user_id: str, notice: Notice) -> bool:
        """Keep a notice until it is delivered. Returns False if it already waits or was delivered."""
        waiting, delivered = _waiting(user_id), _delivered(user_id)
        if len(notice.text) > TEXT_LIMIT:
            notice = msgspec.structs.replace(notice, text=notice.text[: TEXT_LIMIT - 1] + "…")

        async def read(pipe: Pipe) -> tuple[bool, list[Notice]]:
            known = await pipe.zscore(delivered, notice.id) is not None or await pipe.hexists(waiting, notice.id)
            return known, _decoded(await pipe.hvals(waiting))

        def write(pipe: Pipe, found: tuple[bool, list[Notice]]) -> bool:
            known, kept = found
            if known:
                return False
            for old in kept[: max(0, len(kept) + 1 - NOTICES_LIMIT)]:
                log.warning("a user's oldest notice was dropped undelivered: more than %d wait", NOTICES_LIMIT)
                pipe.hdel(waiting, old.id)
            pipe.hset(waiting, notice.id, msgspec.json.encode(notice))
            pipe.expire(waiting, NOTICE_TTL_S)
            return True

        return await self._client.transact(waiting, delivered, read=read, write=write)

    async def waiting(self, user_id: str) -> list[Notice]:
        """Return all waiting notices, oldest first."""
        return _decoded(await self._client.call(lambda redis: redis.hvals(_waiting(user_id))))

    async def waiting_for(self, user_id: str, call: Lease) -> list[Notice]:
        """Return the waiting notices if `call` is the user's active call, or becomes it because there is none."""
        pipe = self._client.pipeline(transaction=False)
        pipe.get(_active(user_id))
        pipe.hvals(_waiting(user_id))
        active, waiting = await self._client.execute(pipe)
        ours = await call.acquire() if active is None else active == call.token.encode()
        return _decoded(waiting) if ours else []

    async def remove(self, user_id: str, notice_id: str) -> bool:
        """Delete a notice that was delivered or need not be, and return whether it existed."""
        now = time.time()
        pipe = self._client.pipeline()
        pipe.hdel(_waiting(user_id), notice_id)
        pipe.zadd(_delivered(user_id), {notice_id: now + DELIVERED_TTL_S})
        pipe.zremrangebyscore(_delivered(user_id), "-inf", now)
        pipe.expire(_delivered(user_id), DELIVERED_TTL_S)
        return bool((await self._client.execute(pipe))[0])

    async def is_delivered(self, user_id: str, notice_id: str) -> bool:
        """Return whether a notice was delivered, or removed for another reason."""
        return await self._client.call(lambda redis: redis.zscore(_delivered(user_id), notice_id)) is not None

    def call_lease(self, user_id: str) -> Lease:
        """Return the lease of a new call on being the user's active one, which alone speaks notices."""
        return Lease(self._client, _active(user_id), LEASE_S)

    async def has_active_call(self, user_id: str) -> bool:
        """Return whether that user has a call that can speak notices."""
        return bool(await self._client.call(lambda redis: redis.exists(_active(user_id))))

    export = waiting
    """Return all notices of a user for an export."""

    async def erase(self, user_id: str) -> None:
        """Delete all notices of a user, and the record of delivered ones."""
        keys = (_waiting(user_id), _delivered(user_id), _active(user_id))
        await self._client.call(lambda redis: redis.delete(*keys))


def _decoded(raw: Iterable[bytes]) -> list[Notice]:
    """Return the notices that can be decoded, oldest first."""
    return sorted(decode_all("notice", raw, _decoder.decode), key=lambda notice: notice.at)
