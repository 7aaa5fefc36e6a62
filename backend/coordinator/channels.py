"""What happened for a user and has not been thought about yet: one durable channel each, on a Redis stream.

    user:{id}:inbox      stream of inputs (what a user said) and results (a task that ended), read by one consumer group
    channels:active      sorted set: user → the second since which something waits

An entry stays until it is acknowledged, which its reader does after its effects. One who dies in between leaves it
pending; whoever comes next claims it (XAUTOCLAIM) and has it again: *at least once*, so effects go by the entry's id.

The bound never drops a result: there is no MAXLEN, since that would. Acknowledged entries are deleted, so what a
stream holds is what waits; when more than `INPUTS_LIMIT` wait, the oldest *inputs* go, counted and said in the log.
Results are few (a user has 20 open tasks at most) and hold the task's id, not its words. A channel nobody reads expires
in 14 days.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import ResponseError, WatchError

from backend.storage.guard import Guard
from backend.tasks.task import Task

log = logging.getLogger(__name__)

ACTIVE = "channels:active"
DROPPED = "channels:dropped"
"""How many inputs were dropped, over all users and since ever."""
GROUP = "coordinator"
INPUTS_LIMIT = 200
"""Entries waiting for one user from which on inputs are dropped."""
INPUT_CHARS = 4_000
"""Characters of one input; the rest is cut."""
KEEP_S = 14 * 86_400
"""How long a channel nobody reads is kept."""
SWEEP = 50
"""Entries looked through for inputs to drop."""


class Entry(msgspec.Struct, frozen=True):
    """One thing that happened. `at` is Unix time in seconds."""

    id: str
    kind: Literal["input", "result"]
    at: float
    text: str = ""
    """An input's words."""
    mode: str = ""
    """Where they were said: voice, chat, or api."""
    task_id: str = ""
    """The task that ended."""
    state: str = ""


class Channels:
    """All users' channels, as `consumer` (a name no other process has). Methods may raise `MemoryUnavailable`."""

    def __init__(
        self, redis: Redis, consumer: str, *, claim_after_s: float = 30.0, clock: Callable[[], float] = time.time
    ) -> None:
        """Entries of a reader who has not been heard of for `claim_after_s` are taken from them."""
        self._redis = redis
        self._consumer = consumer
        self._claim_after_ms = round(claim_after_s * 1000)
        self._clock = clock
        self._guard = Guard()
        self.on_said: Callable[[], None] = lambda: None
        """Called when a user has said something here."""

    def __repr__(self) -> str:
        return f"Channels({self._consumer}, {self._guard})"

    # --- putting --------------------------------------------------------------------------------------

    def put(self, transaction: Any, task: Task) -> None:
        """See `tasks.Results`: the entry of a task that ended, in the transaction that ends it."""
        self._add(transaction, task.owner, {"kind": "result", "task_id": task.id, "state": task.state.value})

    async def say(self, user_id: str, text: str, mode: str) -> None:
        """A user has said something."""
        pipe = self._redis.pipeline(transaction=True)
        self._add(pipe, user_id, {"kind": "input", "text": text[:INPUT_CHARS], "mode": mode})
        pipe.xlen(_inbox(user_id))
        done = await self._guard(pipe.execute)
        self.on_said()
        if done[-1] > INPUTS_LIMIT:
            await self._guard(lambda: self._drop_inputs(user_id, done[-1] - INPUTS_LIMIT))

    # --- taking ---------------------------------------------------------------------------------------

    async def users(self) -> list[str]:
        """Those for whom something waits, the longest wait first."""
        raw = await self._guard(lambda: self._redis.zrange(ACTIVE, 0, -1))
        return [user.decode() for user in raw]

    async def waiting(self, user_id: str, limit: int = 100) -> list[Entry]:
        """What is not acknowledged, oldest first, without taking it."""
        raw = await self._guard(lambda: self._redis.xrange(_inbox(user_id), count=limit))
        return _entries(raw or [])

    async def take(self, user_id: str, limit: int = 50) -> list[Entry]:
        """What waits, oldest first: ours from before, that of readers who died, and what is new."""
        taken: list[Entry] = await self._guard(lambda: self._take(user_id, limit))
        return taken

    async def acknowledge(self, user_id: str, ids: Sequence[str], *, rest: bool = True) -> None:
        """Their effects have taken place: they are never had again. See `rest`."""
        key = _inbox(user_id)
        if ids:
            pipe = self._redis.pipeline(transaction=True)
            pipe.xack(key, GROUP, *ids)
            pipe.xdel(key, *ids)
            await self._guard(pipe.execute)
        if rest:
            await self.rest(user_id)

    async def rest(self, user_id: str) -> None:
        """List the user no more, unless something waits, or has come meanwhile."""
        await self._guard(lambda: self._rest(user_id))

    async def export(self, user_id: str) -> list[dict[str, Any]]:
        """For the user to take away."""
        return [msgspec.to_builtins(entry) for entry in await self.waiting(user_id, limit=1_000)]

    async def erase(self, user_id: str) -> None:
        """Leaves nothing of that user."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.delete(_inbox(user_id))
        pipe.zrem(ACTIVE, user_id)
        await self._guard(pipe.execute)

    def _add(self, pipe: Any, user_id: str, fields: Mapping[str, str]) -> None:
        now = self._clock()
        pipe.xadd(_inbox(user_id), {**fields, "at": f"{now:.3f}"})
        pipe.expire(_inbox(user_id), KEEP_S)
        pipe.zadd(ACTIVE, {user_id: now}, nx=True)

    async def _take(self, user_id: str, limit: int) -> list[Entry]:
        key = _inbox(user_id)
        await self._have_group(key)
        await self._redis.xautoclaim(key, GROUP, self._consumer, self._claim_after_ms, count=limit)
        ours = await self._read(key, "0", limit)
        fresh = await self._read(key, ">", limit - len(ours)) if len(ours) < limit else []
        return _entries([*ours, *fresh])

    async def _read(self, key: str, start: str, limit: int) -> list[Any]:
        answer = await self._redis.xreadgroup(GROUP, self._consumer, {key: start}, count=limit)
        streams = cast(Any, answer.items() if isinstance(answer, dict) else answer or [])
        return [entry for _, entries in streams for entry in entries]

    async def _have_group(self, key: str) -> None:
        try:
            await self._redis.xgroup_create(key, GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def _rest(self, user_id: str) -> None:
        """Nothing waits for that user any more, unless something has come meanwhile."""
        async with self._redis.pipeline(transaction=True) as pipe:
            await pipe.watch(_inbox(user_id))
            if await pipe.xlen(_inbox(user_id)):
                return
            pipe.multi()  # type: ignore[no-untyped-call]
            pipe.zrem(ACTIVE, user_id)
            try:
                await pipe.execute()
            except WatchError:
                return

    async def _drop_inputs(self, user_id: str, surplus: int) -> None:
        oldest = _entries(await self._redis.xrange(_inbox(user_id), count=SWEEP + surplus) or [])
        ids = [entry.id for entry in oldest if entry.kind == "input"][:surplus]
        if not ids:
            return
        log.warning("%d inputs of a user were dropped unread: nobody has thought about them in time", len(ids))
        pipe = self._redis.pipeline(transaction=True)
        pipe.xack(_inbox(user_id), GROUP, *ids)
        pipe.xdel(_inbox(user_id), *ids)
        pipe.incrby(DROPPED, len(ids))
        await pipe.execute()


class Leases:
    """Who acts for a user: one at a time, over all processes, until they let go or are not heard of for `ttl_s`."""

    def __init__(self, redis: Redis, holder: str, ttl_s: float = 20.0) -> None:
        self._redis = redis
        self._holder = holder
        self._ttl_ms = round(ttl_s * 1000)
        self._guard = Guard()

    def __repr__(self) -> str:
        return f"Leases({self._holder})"

    async def take(self, user_id: str) -> bool:
        """Whether we are the one now."""
        name = _lease(user_id)
        return bool(await self._guard(lambda: self._redis.set(name, self._holder, nx=True, px=self._ttl_ms)))

    async def keep(self, user_id: str) -> None:
        """Say again and again that we are, until cancelled."""
        while True:
            await asyncio.sleep(self._ttl_ms / 4_000)
            await self._guard(lambda: self._redis.pexpire(_lease(user_id), self._ttl_ms))

    async def drop(self, user_id: str) -> None:
        """We are no more, if we still were."""
        await self._guard(lambda: self._drop(_lease(user_id)))

    async def _drop(self, name: str) -> None:
        async with self._redis.pipeline(transaction=True) as pipe:
            await pipe.watch(name)
            if await pipe.get(name) != self._holder.encode():
                return
            pipe.multi()  # type: ignore[no-untyped-call]
            pipe.delete(name)
            try:
                await pipe.execute()
            except WatchError:
                return


def _entries(raw: Sequence[Any]) -> list[Entry]:
    """The entries that can be read; one deleted while it was pending comes without fields."""
    found = {}
    for id_, fields in raw:
        if fields:
            told = {key.decode(): value.decode() for key, value in fields.items()}
            entry = Entry(id_.decode(), cast(Any, told.pop("kind")), float(told.pop("at")), **told)
            found[entry.id] = entry
    return sorted(found.values(), key=_order)


def _order(entry: Entry) -> tuple[int, int]:
    milliseconds, _, number = entry.id.partition("-")
    return int(milliseconds), int(number)


def _inbox(user_id: str) -> str:
    return f"user:{user_id}:inbox"


def _lease(user_id: str) -> str:
    return f"user:{user_id}:coordinator"
