"""Limits on what a user, an address and a machine do at the same time, in all processes together.

    permits:{kind}:{subject}   sorted set: id → Unix time until which it is held

Calls, typed turns and streams are limited for each user and each address; sockets without a first message for each
address; calls also for each machine. A permit that is taken but never entered, or belongs to a process that has died,
is free again after 30 seconds. While Redis does not answer, each process counts its own permits.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from redis.asyncio import Redis

from backend.access.billing import BillingSubject
from backend.access.usage import Subject, SubjectKind
from backend.errors import MemoryUnavailable, Overloaded, TooMany
from backend.observability.security_log import SecurityEvent, security_event
from backend.runtime.supervisor import start_among
from backend.settings.budgets import BudgetSettings
from backend.storage.client import RedisStore

HANDSHAKES = 16
"""The most WebSockets of one address that wait for their first message."""
UNSTARTED = 100
"""The most media streams of one address that wait for their first message; a telephone provider has few addresses."""
HELD_S = 30.0
"""Seconds a permit lasts without renewal: longer than a reserved session waits for its transport."""
RENEW_EVERY_S = 10.0
RETRY_S = 10
BUSY_RETRY_S = 15
"""Seconds after which a caller may try again when this machine is full."""


class PermitKind(StrEnum):
    """The kinds of permits."""

    CALLS = "live_calls"
    TURNS = "running_turns"
    STREAMS = "open_streams"
    HANDSHAKES = "handshakes"
    UNSTARTED = "unstarted_streams"


OF_ADDRESSES = frozenset({PermitKind.HANDSHAKES, PermitKind.UNSTARTED})
"""The kinds that are limited by address alone, for loopback, too."""
WORDS = {
    PermitKind.CALLS: "calls",
    PermitKind.TURNS: "messages being answered",
    PermitKind.STREAMS: "open pages and streams",
    PermitKind.HANDSHAKES: "WebSockets without a token",
    PermitKind.UNSTARTED: "media streams that have not started",
}


@dataclass(eq=False)
class Permit:
    """A permit that was taken. Enter it to hold it until the end of the block."""

    concurrency: ConcurrencyLimits
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
        """Free the permit; without Redis it expires by itself. Never raises."""
        await self.concurrency.release(self)

    def release_after(self, work: asyncio.Future[Any]) -> None:
        """Hold the permit until `work` ends, in whatever way. Never waits."""
        self.entered = True
        work.add_done_callback(lambda _: start_among(self.concurrency.writing, "permit release", self.release()))


class ConcurrencyLimits(RedisStore):
    """The permits of all processes; `clock` gives Unix time in seconds."""

    def __init__(
        self, redis: Redis, settings: BudgetSettings, *, machine: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        """`machine` names the machine: all processes with the same name count their calls together."""
        super().__init__(redis)
        self._limits: Mapping[PermitKind, int] = {
            PermitKind.CALLS: settings.live_calls,
            PermitKind.TURNS: settings.running_turns,
            PermitKind.STREAMS: settings.open_streams,
            PermitKind.HANDSHAKES: HANDSHAKES,
            PermitKind.UNSTARTED: UNSTARTED,
        }
        self._machine = Subject(SubjectKind.MACHINE, hashlib.sha256(machine.encode()).hexdigest()[:20])
        self.machine_calls = 0
        """The most calls that this machine serves; 0: any number."""
        self._clock = clock
        self._held: dict[tuple[PermitKind, str], Permit] = {}
        self.writing: set[asyncio.Task[None]] = set()

    async def take(self, kind: PermitKind, billed: BillingSubject) -> Permit:
        """Take a permit for that user, address and machine. Raises `TooMany` when one of them has none left."""
        permit = self._new(kind, billed, secrets.token_urlsafe(16))
        if not permit.subjects:
            return permit
        try:
            counts = await self._write(permit)
        except MemoryUnavailable:
            counts = [1 + count for count in self._counted_here(permit)]
        for subject, count in zip(permit.subjects, counts, strict=True):
            if count > self._limit(kind, subject):
                await permit.release()
                raise self._refused(kind, subject, billed)
        self._held[kind, permit.id] = permit
        return permit

    def _limit(self, kind: PermitKind, subject: Subject) -> int:
        return self.machine_calls if subject == self._machine else self._limits[kind]

    def _refused(self, kind: PermitKind, subject: Subject, billed: BillingSubject) -> TooMany:
        limit = self._limit(kind, subject)
        if subject == self._machine:
            hint = (
                f"Try again shortly. This machine serves {limit}: "
                "raise LOCAL_CALLS if it has cores to spare, or add a machine."
            )
            return Overloaded("All lines are busy.", retry_after_s=BUSY_RETRY_S, hint=hint)
        security_event(SecurityEvent.REQUEST_REFUSED, billed, f"more than {limit} {WORDS[kind]} in parallel")
        hint = f"At most {limit} at the same time are allowed for each user and each address. End one of them first."
        return TooMany(f"Too many {WORDS[kind]}.", retry_after_s=RETRY_S, hint=hint)

    def hold(self, kind: PermitKind, billed: BillingSubject, id_: str) -> Permit:
        """Return the permit with that id. One that is not known here is taken now, beyond any limit. Never waits."""
        permit = self._held.get((kind, id_)) or self._new(kind, billed, id_)
        if permit.subjects and (kind, id_) not in self._held:
            self._held[kind, id_] = permit
            start_among(self.writing, "permit", self._write_quietly(permit))
        return permit

    def free(self, kind: PermitKind, id_: str) -> None:
        """Free the permit with that id if this process has it. Never waits."""
        if permit := self._held.get((kind, id_)):
            start_among(self.writing, "permit release", self.release(permit))

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
        """Renew this process's permits at intervals until cancelled."""
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

    def _new(self, kind: PermitKind, billed: BillingSubject, id_: str) -> Permit:
        return Permit(self, kind, self._subjects(kind, billed), id_, self._clock() + HELD_S)

    def _subjects(self, kind: PermitKind, billed: BillingSubject) -> tuple[Subject, ...]:
        """Return the subjects of a permit, the machine last."""
        if kind in OF_ADDRESSES:
            return (billed.at_address,)
        callers = billed.with_address if self._limits[kind] and not billed.exempt else ()
        return (*callers, self._machine) if kind is PermitKind.CALLS and self.machine_calls else callers

    async def _write_quietly(self, permit: Permit) -> None:
        with suppress(MemoryUnavailable):
            await self._write(permit)

    async def _write(self, permit: Permit) -> list[int]:
        """Write a permit to Redis, and return how many permits each of its subjects holds now."""
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
