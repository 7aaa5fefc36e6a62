"""Usage is counted by day (UTC) and by subject, in Redis, for all processes together.

    budget:{YYYY-MM-DD}:{subject}     hash: resource → amount; kept for two days
    budget:{YYYY-MM-DD}:top:{kind}   sorted set of those who used most: name → model tokens

`charge` never waits: this process adds the amounts up, and `run` writes them once a second in one round trip, which
also returns what other processes have charged. While Redis does not answer, the counts that this process knows decide,
and its charges wait for Redis to return.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from enum import StrEnum
from heapq import nlargest
from itertools import count
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.storage.client import Pipe, RedisStore

KEEP_S = 2 * 86_400
WRITE_EVERY_S = 1.0
"""Seconds between two writes of charges."""
RANK_EVERY = 20
"""The number of writes after which the list of those who used most is renewed."""
KNOWN_LIMIT = 10_000
"""The most subjects for which this process remembers the usage; the one read longest ago is forgotten first."""
TOP = 20
"""Of each kind, those who used most that are listed."""
WAITING_LIMIT = 20_000
"""The most subjects with charges that wait for Redis; beyond that only the server's total is counted."""


class Resource(StrEnum):
    """The kinds of usage; each name states the unit."""

    MODEL_TOKENS = "model_tokens"
    VOICE_SECONDS = "voice_seconds"
    TASKS = "tasks"
    KEPT_BYTES = "kept_bytes"
    MICRO_USD = "micro_usd"
    """Millionths of a US dollar."""
    NEW_USERS = "new_users"


class SubjectKind(StrEnum):
    """What use is counted for."""

    USER = "user"
    ADDRESS = "address"
    KEY = "key"
    TOTAL = "total"
    """All users together."""
    MACHINE = "machine"


class Subject(NamedTuple):
    """A user, an address or a key for which usage is counted.

    User ids and addresses are hashed, because the counts outlive an erasure until the next day.
    """

    kind: SubjectKind
    name: str

    @property
    def key(self) -> str:
        """The subject as a part of a Redis key."""
        return f"{self.kind}:{self.name}" if self.name else self.kind.value


EVERYBODY = Subject(SubjectKind.TOTAL, "")
Usage: TypeAlias = Counter[Resource]

CALL = frozenset({Resource.MODEL_TOKENS, Resource.VOICE_SECONDS, Resource.MICRO_USD})
"""The resources that a voice call uses."""
TURN = frozenset({Resource.MODEL_TOKENS, Resource.KEPT_BYTES, Resource.MICRO_USD})
"""The resources that a request to text models uses."""
TASK = TURN | {Resource.TASKS}
WRITE = frozenset({Resource.KEPT_BYTES})
"""The resources of a request that only stores something."""


class DayCounts(RedisStore):
    """The counts of all processes; `clock` gives Unix time in seconds."""

    def __init__(self, redis: Redis, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(redis)
        self._clock = clock
        self._day = ""
        self._known: OrderedDict[Subject, Usage] = OrderedDict()
        self._waiting: dict[Subject, Usage] = {}
        self._unranked: set[Subject] = set()
        self._writing = asyncio.Lock()

    def charge(self, subjects: Collection[Subject], amounts: Usage) -> None:
        """Count `amounts` for each of the subjects; they are written within a second."""
        self._turn_day()
        for subject in subjects:
            # A full queue takes no new subjects, but always counts the server's total.
            if subject in self._waiting or subject == EVERYBODY or len(self._waiting) < WAITING_LIMIT:
                self._waiting.setdefault(subject, Counter()).update(amounts)

    def known(self, subject: Subject) -> Usage:
        """Return what a subject has used today, as far as this process knows."""
        self._turn_day()
        return Counter(self._known.get(subject, {})) + self._waiting.get(subject, Counter())

    async def read(self, subjects: Collection[Subject]) -> None:
        """Read what each subject has used today in all processes. Raises `MemoryUnavailable`."""
        await self._write({subject: Counter() for subject in subjects})

    async def top(self, kind: SubjectKind) -> dict[str, Usage]:
        """Return the usage of those who used most today, by name. Raises `MemoryUnavailable`."""
        self._turn_day()
        raw = await self._client.call(lambda redis: redis.zrevrange(self._top_key(kind), 0, TOP - 1))
        subjects = [Subject(kind, name.decode()) for name in raw or []]
        await self.read(subjects)
        return {subject.name: self.known(subject) for subject in subjects}

    async def run(self) -> None:
        """Write charges at intervals, and from time to time the list of those who used most, until cancelled."""
        for second in count(1):
            await asyncio.sleep(WRITE_EVERY_S)
            with suppress(MemoryUnavailable):
                await self.flush()
                if second % RANK_EVERY == 0:
                    await self.rank()

    async def flush(self) -> None:
        """Write this process's charges, and read those of all. Raises `MemoryUnavailable`, and keeps the charges."""
        self._turn_day()
        if self._waiting:
            await self._write(self._waiting)

    async def rank(self) -> None:
        """List subjects with new usage that are among the top. Raises `MemoryUnavailable`."""
        ranked, self._unranked = self._unranked, set()
        if not ranked:
            return
        pipe = self._client.pipeline(transaction=False)
        for kind in {subject.kind for subject in ranked}:
            tokens = {s.name: self.known(s)[Resource.MODEL_TOKENS] for s in ranked if s.kind is kind}
            pipe.zadd(self._top_key(kind), dict(nlargest(TOP, tokens.items(), key=itemgetter(1))))
            pipe.zremrangebyrank(self._top_key(kind), 0, -TOP - 1)
            pipe.expire(self._top_key(kind), KEEP_S)
        await self._client.execute(pipe)

    async def _write(self, amounts: Mapping[Subject, Usage]) -> None:
        """Add the amounts, and read what each subject has used. Written amounts no longer wait."""
        async with self._writing if any(amounts.values()) else nullcontext():  # a read waits for no write
            self._turn_day()
            written = {subject: usage.copy() for subject, usage in amounts.items()}
            pipe = self._client.pipeline(transaction=False)
            lengths = [self._queue(pipe, subject, usage) for subject, usage in written.items()]
            answers = iter(await self._client.execute(pipe))
        for (subject, usage), length in zip(written.items(), lengths, strict=True):
            *_, raw = (next(answers) for _ in range(length))
            self._known[subject] = Counter({r: int(raw[r.encode()]) for r in Resource if r.encode() in raw})
            self._known.move_to_end(subject)
            if usage:
                self._no_longer_waits(subject, usage)
        while len(self._known) > KNOWN_LIMIT:
            self._known.popitem(last=False)

    def _no_longer_waits(self, subject: Subject, written: Usage) -> None:
        left = self._waiting.pop(subject, Counter())
        left.subtract(written)
        if any(left.values()):  # negative: what was taken back during the write
            self._waiting[subject] = left
        if subject != EVERYBODY and len(self._unranked) < KNOWN_LIMIT:
            self._unranked.add(subject)

    def _top_key(self, kind: SubjectKind) -> str:
        return f"budget:{self._day}:top:{kind}"

    def _queue(self, pipe: Pipe, subject: Subject, amounts: Usage) -> int:
        """Queue the commands of one subject, and return their number."""
        key = f"budget:{self._day}:{subject.key}"
        counted = [(resource, amount) for resource, amount in amounts.items() if amount]
        for resource, amount in counted:
            pipe.hincrby(key, resource.value, amount)
        begins = bool(counted) and not self._known.get(subject)
        if begins:  # as far as this process knows
            pipe.expire(key, KEEP_S)
        pipe.hgetall(key)
        return len(counted) + begins + 1

    def _turn_day(self) -> None:
        """Forget the known counts when the day changes; waiting charges count for the new day."""
        day = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        if day != self._day:
            self._day = day
            self._known.clear()
            self._unranked.clear()
