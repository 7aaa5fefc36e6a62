"""What access keeps in Redis, for all processes: one-time tickets, the epochs that make cookies void, and
token buckets.

    ticket:{hash}    what a ticket opens, as JSON, until it is used or 30 seconds have passed
    sign-in:{hash}   a sign-in that has begun, as JSON, until it is finished or ten minutes have passed
    epoch:{hash}     the number of times a user's cookies were revoked
    bucket:{hash}    the Unix time at which a token bucket is full again, until then

A ticket stands in an address where nothing else can be sent: a browser's event stream takes no headers. It is good
once, so an address in a proxy's log opens nothing.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.storage.client import Pipe, RedisStore

TICKET_LIFE_S = 30
"""Seconds in which a ticket must be used."""
EPOCH_LIFE_S = 410 * 86_400
"""Seconds an epoch is kept: longer than any cookie lives."""
CACHED_S = 5.0
"""Seconds another process may still take a cookie that was revoked here."""
CACHED_LIMIT = 10_000
TICKET_LIMIT = 128
"""Characters of a ticket that are looked at."""
TicketKind = Literal["ticket", "sign-in"]
"""What a ticket is for: one kind never passes for another."""


class AccessStore(RedisStore):
    """Tickets and epochs."""

    def __init__(self, redis: Redis, now: Callable[[], float] = time.monotonic) -> None:
        """`now` gives seconds of a steady clock."""
        super().__init__(redis)
        self._now = now
        self._epochs: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """User → epoch, and until when it is believed."""

    async def put_ticket(self, content: bytes, life_s: int = TICKET_LIFE_S, kind: TicketKind = "ticket") -> str:
        """Return a new ticket for `content`. Raises `MemoryUnavailable`."""
        ticket = secrets.token_urlsafe(24)
        await self._client.call(lambda redis: redis.set(f"{kind}:{_hashed(ticket)}", content, ex=life_s))
        return ticket

    async def take_ticket(self, ticket: str, kind: TicketKind = "ticket") -> bytes | None:
        """Return what `ticket` was made for, once; None for one that is unknown, used, too old or of another kind.

        Raises `MemoryUnavailable`.
        """
        name = f"{kind}:{_hashed(ticket[:TICKET_LIMIT])}"
        found: bytes | None = await self._client.call(lambda redis: redis.getdel(name))
        return found

    async def change_bucket(self, name: str, change: Callable[[float], float], now: float) -> None:
        """Replace the Unix time at which a token bucket is full by what `change` makes of it.

        What `change` raises comes through, and nothing is changed. Raises `MemoryUnavailable`.
        """
        key = f"bucket:{_hashed(name)}"

        def write(pipe: Pipe, raw: bytes | None) -> None:
            full_at = change(float(raw or 0))
            pipe.set(key, repr(full_at), px=max(1, math.ceil((full_at - now) * 1000)))

        await self._client.transact(key, read=lambda pipe: pipe.get(key), write=write)

    async def epoch(self, user: str) -> int | None:
        """Return how often the user's cookies were revoked; None while Redis does not answer, and nobody knows."""
        known, until = self._epochs.get(user, (None, 0.0))
        if known is not None and self._now() < until:
            return known
        with suppress(MemoryUnavailable):
            known = int(await self._client.call(lambda redis: redis.get(_epoch(user))) or 0)
        if known is not None:
            self._remember(user, known)
        return known

    async def revoke(self, user: str) -> int:
        """Make every cookie of the user void that was made so far; return the new epoch. Raises `MemoryUnavailable`."""
        pipe = self._client.pipeline()
        pipe.incr(_epoch(user))
        pipe.expire(_epoch(user), EPOCH_LIFE_S)
        epoch = int((await self._client.execute(pipe))[0])
        self._remember(user, epoch)
        return epoch

    def _remember(self, user: str, epoch: int) -> None:
        self._epochs[user] = epoch, self._now() + CACHED_S
        self._epochs.move_to_end(user)
        if len(self._epochs) > CACHED_LIMIT:
            self._epochs.popitem(last=False)


def _epoch(user: str) -> str:
    return f"epoch:{_hashed(user)}"


def _hashed(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()[:32]
