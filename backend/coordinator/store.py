"""The coordinator keeps two things for each user in Redis: a channel of unprocessed entries, and the state of digests.

    user:{id}:inbox       stream of inputs (a user's words) and results (a task that ended)
    channels:active       sorted set: user → the second since which the user waits for a digest
    user:{id}:coordinator the lease of the process that works on this user's digest; it alone reads the channel
    user:{id}:thoughts    hash: id → history entry; at most HISTORY_LIMIT, for STATE_KEEP_S
    user:{id}:digest      the plan that was decided on
    user:{id}:feedback    hash: id → feedback; at most FEEDBACK_LIMIT
    user:{id}:digests     the last digest, and the counts of all

The reader acknowledges an entry after its effects; until then the entry stays in its channel. If the reader dies in
between, the next one gets the entry again: delivery is *at least once*. A plan is written before any part of it is
carried out, and the first one written stands: after a crash it is carried out again, not decided again. All effects
have ids, so repeating them changes nothing.

The bound of a channel never drops a result: there is no MAXLEN, since that would. Acknowledged entries are deleted, so
a stream holds only what waits; when `INPUTS_LIMIT` entries wait, further *inputs* are refused.
Results are few (a user has 20 open tasks at most) and hold the task's id, not its words.

Undecodable data is counted and logged: entries are deleted, history entries are left out, and a plan is deleted, so
that its entries, which are still in the channel, are decided on again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypedDict

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from redis.asyncio import Redis

from backend.access.principal import PUBLIC, CallerScope
from backend.errors import TooMany
from backend.runtime.faults import decode_all, decode_or_skip
from backend.storage.client import Lease, Pipe, RedisStore
from backend.storage.record_format import FORMAT, Format
from backend.tasks.task import INSTRUCTION_LIMIT, Task

ACTIVE = "channels:active"
INPUTS_LIMIT = 200
"""Entries waiting for one user from which on further inputs are refused."""
INPUT_CHARS = 4_000
"""The most characters of one input; the rest is cut."""
CHANNEL_KEEP_S = 14 * 86_400
"""Seconds an unread channel is kept."""
HISTORY_LIMIT = 100
FEEDBACK_LIMIT = 100
SUMMARY_CHARS = 1_000
FEEDBACK_CHARS = 500
LEASE_S = 10.0
"""Seconds a process that works on a digest may be silent before another one takes over."""
STATE_KEEP_S = 30 * 86_400
"""Seconds the state is kept after the last digest."""


inbox_key = "user:{}:inbox".format
_history = "user:{}:thoughts".format
_digest = "user:{}:digest".format
_feedback = "user:{}:feedback".format
_digests = "user:{}:digests".format


class ChannelEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A channel entry is a waiting input or result. `at` is Unix time in seconds."""

    id: str
    kind: Literal["input", "result"]
    at: float
    text: str = ""
    """An input's words."""
    mode: str = ""
    """The origin of the words: voice, chat, or api."""
    task_id: str = ""
    """The task that ended."""
    state: str = ""
    scope: CallerScope = PUBLIC
    """The scope of the user when they said it, or of the task."""


class HistoryEntry(msgspec.Struct, frozen=True):
    """A history entry is an event, or the decision about it."""

    id: str
    at: float
    kind: Literal["input", "result", "summary", "decision"]
    text: str
    format: Format = FORMAT


class CreateTask(msgspec.Struct, frozen=True, tag="create_task", tag_field="action"):
    """Begins long work in the background."""

    kind: Annotated[str, Meta(description="The specialist for it, such as research.")]
    instruction: Annotated[str, Meta(min_length=3, max_length=INSTRUCTION_LIMIT, description="All it needs to know.")]


class CancelTask(msgspec.Struct, frozen=True, tag="cancel_task", tag_field="action"):
    """Stops a task that is no longer wanted."""

    task_id: Annotated[str, Meta(description="Its id, as shown.")]


class SummarizeTaskResult(msgspec.Struct, frozen=True, tag="summarize_task_result", tag_field="action"):
    """Keeps what matters of a task's result."""

    task_id: Annotated[str, Meta(description="Its id, as shown.")]
    summary: Annotated[str, Meta(min_length=1, max_length=SUMMARY_CHARS, description="Two or three sentences.")]


class CaptureFeedback(msgspec.Struct, frozen=True, tag="capture_feedback", tag_field="action"):
    """Keeps what the user thinks of the service."""

    feeling: Literal["praise", "complaint", "correction", "wish"]
    text: Annotated[str, Meta(min_length=1, max_length=FEEDBACK_CHARS, description="What they said, briefly.")]


Action = CreateTask | CancelTask | SummarizeTaskResult | CaptureFeedback


class Plan(msgspec.Struct, frozen=True):
    """A plan is a digest that has been decided on. `at` is Unix time in seconds."""

    id: str
    at: float
    entries: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """The tasks with results among the entries."""
    decision: str = ""
    """The words of the notice to the user; empty: there is none."""
    actions: tuple[Action, ...] = ()
    invalid: tuple[str, ...] = ()
    """Actions that were refused, and why."""
    failure: str = ""
    """Why no model decided; empty: a model did."""
    inputs: tuple[str, ...] = ()
    """The ids of the entries that are inputs."""
    task_summary: str = ""
    """The user's tasks at the time of the decision, one on each line."""
    scope: CallerScope = PUBLIC
    """The tools that new tasks may use: those within the scope of every entry."""
    format: Format = FORMAT


class Feedback(msgspec.Struct, frozen=True, omit_defaults=True):
    """Feedback is a user's opinion of the service, or why something failed. `at` is Unix time in seconds."""

    feeling: str
    text: str = ""
    at: float = 0.0


class LastDigest(msgspec.Struct, frozen=True):
    """A user's last digest; empty before the first."""

    last_at: float = 0.0
    id: str = ""
    decision: str = ""
    failure: str = ""


class DigestStatus(LastDigest, frozen=True):
    """A digest status is a user's last digest, and the counts of all digests so far."""

    count: int = 0
    failed: int = 0
    invalid: int = 0


class CoordinatorExport(TypedDict, total=False):
    """All data of a user that the coordinator keeps; `digests` is missing before the first digest."""

    waiting: list[ChannelEntry]
    history: list[HistoryEntry]
    feedback: list[Feedback]
    digests: DigestStatus


class Channels(RedisStore):
    """The channels of all users. Methods may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(redis)
        self._clock = clock

    def lease(self, user_id: str) -> Lease:
        """Return a lease on the user's digests."""
        return Lease(self._client, f"user:{user_id}:coordinator", LEASE_S)

    def add_result(self, transaction: Pipe, task: Task) -> None:
        """Add the entry of a task in the transaction that ends it."""
        entry = ChannelEntry("", "result", self._clock(), task_id=task.id, state=task.state.value, scope=task.scope)
        self._add(transaction, task.owner, entry)

    async def add_input(self, user_id: str, text: str, mode: str, scope: CallerScope = PUBLIC) -> None:
        """Add what a user has said. Raises `TooMany` when too much waits."""
        if await self._client.call(lambda redis: redis.xlen(inbox_key(user_id))) >= INPUTS_LIMIT:
            raise TooMany(f"{INPUTS_LIMIT} inputs and results wait already.", retry_after_s=60, hint="Try again later.")
        pipe = self._client.pipeline()
        self._add(pipe, user_id, ChannelEntry("", "input", self._clock(), text[:INPUT_CHARS], mode, scope=scope))
        await self._client.execute(pipe)

    async def users(self) -> list[str]:
        """Return the users with entries; the user who has waited longest since the last digest comes first."""
        raw = await self._client.call(lambda redis: redis.zrange(ACTIVE, 0, -1))
        return [user.decode() for user in raw]

    async def move_last(self, user_id: str) -> None:
        """Move the user behind all waiting users, so that users take turns."""
        now = self._clock()
        await self._client.call(lambda redis: redis.zadd(ACTIVE, {user_id: now}, xx=True))

    async def waiting(self, user_id: str, limit: int = 100) -> list[ChannelEntry]:
        """Return the unacknowledged entries, oldest first, and delete undecodable ones."""
        raw = await self._client.call(lambda redis: redis.xrange(inbox_key(user_id), count=limit))
        entries = [entry for each in raw or [] if (entry := decode_or_skip("channel entry", each, _entry))]
        await self.acknowledge(user_id, list({id_.decode() for id_, _ in raw or []} - {entry.id for entry in entries}))
        return entries

    async def acknowledge(self, user_id: str, ids: Sequence[str]) -> None:
        """Delete entries that have taken effect. The user stays listed until `unlist`."""
        if ids:
            await self._client.call(lambda redis: redis.xdel(inbox_key(user_id), *ids))

    async def unlist(self, user_id: str) -> None:
        """Remove the user from the active users, unless an entry waits or has just arrived."""
        key = inbox_key(user_id)

        def write(pipe: Pipe, entries: int) -> None:
            if not entries:
                pipe.zrem(ACTIVE, user_id)

        await self._client.transact(key, read=lambda pipe: pipe.xlen(key), write=write)

    async def erase(self, user_id: str) -> None:
        pipe = self._client.pipeline()
        pipe.delete(inbox_key(user_id))
        pipe.zrem(ACTIVE, user_id)
        await self._client.execute(pipe)

    def _add(self, pipe: Pipe, user_id: str, entry: ChannelEntry) -> None:
        pipe.xadd(inbox_key(user_id), {"entry": msgspec.json.encode(entry)})
        pipe.expire(inbox_key(user_id), CHANNEL_KEEP_S)
        pipe.zadd(ACTIVE, {user_id: self._clock()}, nx=True)


class CoordinatorState(RedisStore):
    """The state of digests: history, the running plan, feedback and counts. Methods may raise `MemoryUnavailable`."""

    async def add_history(self, user_id: str, entries: Sequence[HistoryEntry]) -> None:
        """Add to the history. The oldest entries beyond the limit are deleted."""
        key = _history(user_id)
        pipe = self._client.pipeline()
        for entry in entries:
            pipe.hsetnx(key, entry.id, msgspec.json.encode(entry))
        pipe.expire(key, STATE_KEEP_S)
        await self._client.execute(pipe)
        kept = await self.history(user_id)
        if surplus := [entry.id for entry in kept[: max(0, len(kept) - HISTORY_LIMIT)]]:
            await self._client.call(lambda redis: redis.hdel(key, *surplus))

    async def history(self, user_id: str) -> list[HistoryEntry]:
        """Return the history, oldest entry first."""
        raw = await self._client.call(lambda redis: redis.hvals(_history(user_id)))
        return sorted(decode_all("coordinator history", raw, _history_decoder.decode), key=lambda entry: entry.at)

    async def plan(self, user_id: str) -> Plan | None:
        """Return the unfinished plan. An undecodable plan is deleted."""
        key = _digest(user_id)
        raw = await self._client.call(lambda redis: redis.get(key))
        plan = None if raw is None else decode_or_skip("coordinator plan", raw, _plan_decoder.decode)
        if raw is not None and plan is None:
            await self._client.call(lambda redis: redis.delete(key))
        return plan

    async def set_plan(self, user_id: str, plan: Plan) -> Plan | None:
        """Write the plan unless there is one already, and return the plan that stands.

        None: no entry waits, since the user was erased, or another process was faster.
        """
        key, inbox = _digest(user_id), inbox_key(user_id)

        async def read(pipe: Pipe) -> bool:
            return bool(await pipe.xlen(inbox)) and not await pipe.exists(key)

        def write(pipe: Pipe, is_first: bool) -> None:
            if is_first:
                pipe.set(key, msgspec.json.encode(plan), ex=STATE_KEEP_S)

        await self._client.transact(key, inbox, read=read, write=write)
        return await self.plan(user_id)

    async def finish(self, user_id: str, plan: Plan) -> None:
        """Delete a plan that has taken effect completely, and count it."""
        old = await self.status(user_id)
        counts = (old.count + 1, old.failed + bool(plan.failure), old.invalid + len(plan.invalid))
        new = DigestStatus(plan.at, plan.id, plan.decision, plan.failure, *counts)
        pipe = self._client.pipeline()
        pipe.delete(_digest(user_id))
        pipe.set(_digests(user_id), msgspec.json.encode(new), ex=STATE_KEEP_S)
        await self._client.execute(pipe)

    async def add_feedback(self, user_id: str, id_: str, feedback: Feedback) -> None:
        """Keep feedback under its id."""
        key = _feedback(user_id)
        pipe = self._client.pipeline()
        pipe.hsetnx(key, id_, msgspec.json.encode(feedback))
        pipe.expire(key, STATE_KEEP_S)
        pipe.hkeys(key)
        kept = sorted((await self._client.execute(pipe))[-1])
        if surplus := kept[: max(0, len(kept) - FEEDBACK_LIMIT)]:
            await self._client.call(lambda redis: redis.hdel(key, *surplus))

    async def status(self, user_id: str) -> DigestStatus:
        """Return the status of the user's digests so far."""
        raw = await self._client.call(lambda redis: redis.get(_digests(user_id)))
        return decode_or_skip("digest status", raw or b"{}", _status_decoder.decode) or DigestStatus()

    async def export(self, user_id: str) -> CoordinatorExport:
        """Return the user's history, feedback and status."""
        raw = await self._client.call(lambda redis: redis.hvals(_feedback(user_id)))
        feedback = decode_all("feedback", raw, _feedback_decoder.decode)
        return {"history": await self.history(user_id), "feedback": feedback, "digests": await self.status(user_id)}

    async def erase(self, user_id: str) -> None:
        names = (_history(user_id), _digest(user_id), _feedback(user_id), _digests(user_id))
        await self._client.call(lambda redis: redis.delete(*names))


_history_decoder = msgspec.json.Decoder(HistoryEntry)
_plan_decoder = msgspec.json.Decoder(Plan)
_feedback_decoder = msgspec.json.Decoder(Feedback)
_status_decoder = msgspec.json.Decoder(DigestStatus)
_entry_decoder = msgspec.json.Decoder(ChannelEntry)


def _entry(stored: tuple[bytes, dict[bytes, bytes]]) -> ChannelEntry:
    id_, fields = stored
    return replace(_entry_decoder.decode(fields[b"entry"]), id=id_.decode())
