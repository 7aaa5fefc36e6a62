"""Permits limit how many calls, typed turns and streams a user, and an address, has at once, in all processes together.

    permits:{kind}:{subject}   sorted set: id → Unix time until which it is held

A permit that is taken but not entered, and one whose process has died, is free again after 30 seconds. While Redis does
not answer, each process counts its own.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from redis.asyncio import Redis

from backend.budgets.usage import Payer, Subject
from backend.errors import MemoryUnavailable, TooMany
from backend.observability.security_log import SecurityEvent, security_event
from backend.runtime.supervisor import start_among
from backend.settings.budgets import BudgetSettings
from backend.storage.client import RedisStore

HELD_S = 30.0
"""Seconds a permit is held without being renewed: longer than a reserved session waits for its transport."""
RENEW_EVERY_S = 10.0
RETRY_S = 10


class PermitKind(StrEnum):
    """What there are permits for."""

    CALLS = "live_calls"
    TURNS = "running_turns"
    STREAMS = "open_streams"


WORDS = {
    PermitKind.CALLS: "calls",
    PermitKind.TURNS: "messages being answered",
    PermitKind.STREAMS: "open pages and streams",
}


@dataclass(eq=False)
class Permit:
    """A permit that was taken. Enter it to hold it until the end of the block."""

    permits: Permits
    kind: PermitKind
    subjects: tuple[Subject, ...]
    id: str
    until: float
    entered: bool = False

    async def __aenter__(self) -> Self:
        self.entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()

    async def release(self) -> None:
        """Free the permit; without Redis it frees itself. Never raises."""
        await self.permits.release(self)

    def release_after(self, work: asyncio.Future[Any]) -> None:
        """Hold the permit until `work` is over, however it ends. Returns at once."""
        self.entered = True
        work.add_done_callback(lambda _: start_among(self.permits.writing, "permit release", self.release()))


class Permits(RedisStore):
    """The permits of all processes; `clock` gives Unix time in seconds."""

    def __init__(self, redis: Redis, settings: BudgetSettings, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(redis)
        self._limits: Mapping[PermitKind, int] = {
            PermitKind.CALLS: settings.live_calls,
            PermitKind.TURNS: settings.running_turns,
            PermitKind.STREAMS: settings.open_streams,
        }
        self._clock = clock
        self._held: dict[tuple[PermitKind, str], Permit] = {}
        self.writing: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"Permits({len(self._held)} held here)"

    async def take(self, kind: PermitKind, payer: Payer) -> Permit:
        """Take a permit for that user and address. Raises `TooMany` when one of the two has none left."""
        permit = self._new(kind, payer, secrets.token_urlsafe(16))
        if not permit.subjects:
            return permit
        limit = self._limits[kind]
        try:
            counts = await self._write(permit)
        except MemoryUnavailable:
            counts = [1 + count for count in self._counted_here(permit)]
        if max(counts) > limit:
            await permit.release()
            reason = f"more than {limit} {WORDS[kind]} at once"
            security_event(SecurityEvent.REQUEST_REFUSED, payer, reason)
            hint = f"At most {limit} at a time are allowed per user and per address. End one of them first."
            raise TooMany(f"Too many {WORDS[kind]}.", retry_after_s=RETRY_S, hint=hint)
        self._held[kind, permit.id] = permit
        return permit

    def hold(self, kind: PermitKind, payer: Payer, id_: str) -> Permit:
        """Return the permit of that id, taken here or in another process, or now, whatever the limit. Never waits."""
        permit = self._held.get((kind, id_)) or self._new(kind, payer, id_)
        if permit.subjects and (kind, id_) not in self._held:
            self._held[kind, id_] = permit
            start_among(self.writing, "permit", self._write_quietly(permit))
        return permit

    async def release(self, permit: Permit) -> None:
        """Free a permit. Never raises."""
        self._held.pop((permit.kind, permit.id), None)
        if not permit.subjects:
            return
        pipe = self._client.pipeline(transaction=False)
        for subject in permit.subjects:
            pipe.zrem(_key(permit.kind, subject), permit.id)
        with suppress(MemoryUnavailable):
            await self._client.execute(pipe)

    async def run(self) -> None:
        """Renew the permits that are held here, again and again, until cancelled."""
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            now = self._clock()
            for key, permit in list(self._held.items()):
                if permit.entered:
                    permit.until = now + HELD_S
                elif permit.until <= now:
                    del self._held[key]
            with suppress(MemoryUnavailable):
                await self._renew()

    def _new(self, kind: PermitKind, payer: Payer, id_: str) -> Permit:
        limited = self._limits[kind] and not payer.exempt
        subjects = payer.with_address if limited else ()
        return Permit(self, kind, subjects, id_, self._clock() + HELD_S)

    async def _write_quietly(self, permit: Permit) -> None:
        with suppress(MemoryUnavailable):
            await self._write(permit)

    async def _write(self, permit: Permit) -> list[int]:
        """Enter a permit in Redis, and return how many each of its subjects holds with it."""
        pipe = self._client.pipeline()
        for subject in permit.subjects:
            key = _key(permit.kind, subject)
            pipe.zremrangebyscore(key, "-inf", self._clock())
            pipe.zadd(key, {permit.id: permit.until})
            pipe.expire(key, round(HELD_S * 2))
            pipe.zcard(key)
        return [int(count) for count in (await self._client.execute(pipe))[3::4]]

    async def _renew(self) -> None:
        pipe = self._client.pipeline(transaction=False)
        for permit in self._held.values():
            for subject in permit.subjects if permit.entered else ():
                pipe.zadd(_key(permit.kind, subject), {permit.id: permit.until})
                pipe.expire(_key(permit.kind, subject), round(HELD_S * 2))
        if pipe.command_stack:
            await self._client.execute(pipe)

    def _counted_here(self, permit: Permit) -> list[int]:
        now = self._clock()
        mine = [each for each in self._held.values() if each.kind is permit.kind and (each.entered or each.until > now)]
        counts = Counter(subject for each in mine for subject in each.subjects)
        return [counts[subject] for subject in permit.subjects]


def _key(kind: PermitKind, subject: Subject) -> str:
    return f"permits:{kind}:{subject.key}"
