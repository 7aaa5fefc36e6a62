"""The tasks' records in Redis: every change one transaction, told to all processes, counted, and expiring.

A change is WATCH, decide (a pure transition of `tasks`), MULTI. What belongs to it goes into the same transaction: the
record, the sets of open and running tasks, the counts, the event for the page, and, where the task ends in an answer
or a failure, the entry for who tells the user. So there is no moment at which one of them is true without the others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import WatchError

from backend.errors import TooMany
from backend.storage.guard import Guard
from backend.tasks import keys
from backend.tasks import task as tasks
from backend.tasks.task import OPEN_LIMIT, Outcome, Results, Superseded, Task, TaskEvent, TaskState

KEEP_S = 7 * 86_400
"""Seconds a task is kept after its last change."""
TOLD_LIMIT = 100
"""Entries kept of what a task has told."""
STEP_LIMIT = 256 * 1024
"""Characters of one step."""
RESULTS = "tasks:results"
"""The stream of results where nobody has given another place for them."""
RESULTS_LIMIT = 10_000

Change = Callable[[Task], Task]


class StreamResults:
    """`Results` as a plain Redis stream: `{task_id, owner, state}`, and nobody's words."""

    def __init__(self, stream: str = RESULTS) -> None:
        self._stream = stream

    def put(self, transaction: Any, task: Task) -> None:
        """See `Results.put`."""
        entry = {"task_id": task.id, "owner": task.owner, "state": task.state.value}
        transaction.xadd(self._stream, entry, maxlen=RESULTS_LIMIT, approximate=True)


class Records:
    """All users' tasks, over a Redis client that somebody else owns. Every method may raise `MemoryUnavailable`."""

    def __init__(
        self,
        redis: Redis,
        results: Results | None = None,
        *,
        keep_s: int = KEEP_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._redis = redis
        self._results = results or StreamResults()
        self._keep_s = keep_s
        self._clock = clock
        self._call = Guard()

    def __repr__(self) -> str:
        return f"Records({self._call})"

    # --- a task's life --------------------------------------------------------------------------------

    async def place(self, task: Task, steps: Mapping[str, Any]) -> Task:
        """Write a new task, unless the same is open already: then that one. Raises `TooMany` for an owner of 20."""
        placed: Task = await self._call(lambda: self._place(task, steps))
        return placed

    async def begin(self, task_id: str) -> Task:
        """Take it up as a new run. Raises `Superseded` when it is over, unknown, or has taken too many workers."""
        task = await self._change(task_id, lambda task: tasks.begun(task, self._clock()), "running")
        if task.state is not TaskState.RUNNING:
            raise Superseded("The task has taken too many workers.")
        return task

    async def tell(self, task: Task, detail: str) -> None:
        """The run of `task` has got so far. Never with the user's words. Raises `Superseded`."""
        await self._change(
            task.id, lambda now: tasks.progressed(now, task.run, detail, self._clock()), "progress", detail
        )

    async def keep(self, task: Task, step: str, value: Any) -> None:
        """Keep what a step came to. Raises `Superseded`, or `ValueError` when it is too large or no JSON."""
        raw = _packed(value)

        def write(pipe: Any, now: Task) -> None:
            tasks.owns(now, task.run)
            pipe.multi()
            pipe.hset(keys.steps(task.id), step, raw)
            pipe.expire(keys.steps(task.id), self._keep_s)

        await self._call(lambda: self._transact(task.id, write))

    async def steps(self, task_id: str) -> dict[str, Any]:
        """What earlier runs have kept, by step."""
        raw = cast(dict[bytes, bytes], await self._call(lambda: self._redis.hgetall(keys.steps(task_id))))
        return {name.decode(): json.loads(value) for name, value in raw.items()}

    async def finish(self, task: Task, outcome: Outcome) -> Task:
        """The run has its answer. Raises `Superseded`."""
        return await self._change(task.id, lambda now: tasks.done(now, task.run, outcome, self._clock()), "done")

    async def fail(self, task: Task, error: str, *, retries: int, retry_after_s: float) -> Task:
        """The run failed: the task is queued again, or over. Raises `Superseded`."""

        def change(now: Task) -> Task:
            return tasks.failed(now, task.run, error, self._clock(), retries=retries, retry_after_s=retry_after_s)

        return await self._change(task.id, change, "failed", error)

    async def hand_back(self, task: Task) -> None:
        """The worker ends: another shall go on. Raises `Superseded`."""
        await self._change(task.id, lambda now: tasks.handed_back(now, task.run, self._clock()), "queued")

    async def cancel(self, task_id: str) -> Task:
        """Its owner does not want it any more. Raises `Superseded` when it is over or unknown."""
        return await self._change(task_id, lambda task: tasks.canceled(task, self._clock()), "canceled")

    # --- looking --------------------------------------------------------------------------------------

    async def find(self, task_id: str) -> Task | None:
        """The task, whoever owns it."""
        [task] = await self._call(lambda: self._read([task_id]))
        return cast(Task | None, task)

    async def all_of(self, owner: str, limit: int = 0) -> list[Task]:
        """A user's newest tasks, newest first; `limit` 0: all of them."""
        found = await self._call(lambda: self._all_of(owner, limit))
        return cast(list[Task], found)

    async def told(self, task_id: str) -> list[dict[str, Any]]:
        """What the task has told, oldest first: `{at, event, detail}`."""
        raw = cast(list[bytes], await self._call(lambda: self._redis.lrange(keys.told(task_id), 0, -1)))
        return [json.loads(each) for each in raw]

    async def counts(self) -> dict[str, int]:
        """Events since ever over all processes, by name; and `queued_now`, `running_now`."""

        async def read() -> dict[str, int]:
            pipe = self._redis.pipeline(transaction=False)
            pipe.hgetall(keys.COUNTS)
            pipe.zcard(keys.OPEN)
            pipe.scard(keys.RUNNING)
            events, open_now, running = await pipe.execute()
            counted = {name.decode(): int(count) for name, count in events.items()}
            return counted | {"queued_now": max(0, open_now - running), "running_now": running}

        return cast(dict[str, int], await self._call(read))

    async def unmoved(self, since: float, limit: int = 100) -> list[Task]:
        """Open tasks that have not changed since that second, the oldest first."""

        async def read() -> list[Task]:
            old = self._redis.zrangebyscore(keys.OPEN, "-inf", since, start=0, num=limit)
            names = [name.decode() for name in cast(list[bytes], await old)]
            found = dict(zip(names, await self._read(names), strict=True))
            if gone := [name for name, task in found.items() if task is None or not task.open]:
                await self._redis.zrem(keys.OPEN, *gone)  # expired, or dropped by a full Redis
                await cast(Any, self._redis.srem(keys.RUNNING, *gone))
            return [task for task in found.values() if task is not None and task.open]

        return cast(list[Task], await self._call(read))

    async def take_turn(self, seconds: float) -> bool:
        """Whether it is this process's turn to look for lost tasks; others wait so long."""
        return bool(await self._call(lambda: self._redis.set(keys.SWEEP, "1", nx=True, px=round(seconds * 1000))))

    async def forget(self, owner: str, forgotten: Iterable[Task]) -> None:
        """Leave nothing of a user's tasks, which have been canceled before."""
        names = [name for task in forgotten for name in keys.of_task(task.id)]
        folds = [keys.fold(owner, task.kind, task.instruction) for task in forgotten]
        await self._call(lambda: self._redis.delete(keys.owned(owner), *names, *folds))

    # --- transactions ---------------------------------------------------------------------------------

    async def _change(self, task_id: str, change: Change, event: TaskEvent, detail: str = "") -> Task:
        """Make one transition. Raises `Superseded` when it is not to be made."""

        def write(pipe: Any, now: Task) -> Task:
            task = change(now)
            pipe.multi()
            self._write(pipe, task, _event(task, event), detail)
            return task

        changed: Task = await self._call(lambda: self._transact(task_id, write))
        return changed

    async def _transact(self, task_id: str, write: Callable[[Any, Task], Any]) -> Any:
        """Have `write` look at the record and fill a transaction; again as long as somebody else is faster."""
        async with self._redis.pipeline(transaction=True) as pipe:
            while True:
                await pipe.watch(keys.record(task_id))
                raw = cast(bytes | None, await pipe.get(keys.record(task_id)))
                if raw is None:
                    raise Superseded("The task is not known any more.")
                written = write(pipe, keys.decode(raw))
                try:
                    await pipe.execute()
                except WatchError:
                    continue
                return written

    async def _place(self, task: Task, steps: Mapping[str, Any]) -> Task:
        fold = keys.fold(task.owner, task.kind, task.instruction)
        async with self._redis.pipeline(transaction=True) as pipe:
            while True:
                await pipe.watch(fold)
                same = cast(bytes | None, await pipe.get(fold))
                [known] = await self._read([same.decode()]) if same else [None]
                if known is not None and known.open:
                    return known
                if sum(each.open for each in await self._all_of(task.owner, 0)) >= OPEN_LIMIT:
                    hint = "Wait for one of them, or cancel one."
                    raise TooMany(f"{OPEN_LIMIT} tasks are open already.", retry_after_s=60, hint=hint)
                pipe.multi()  # type: ignore[no-untyped-call]
                self._write_new(pipe, task, steps)
                try:
                    await pipe.execute()
                except WatchError:
                    continue
                return task

    def _write_new(self, pipe: Any, task: Task, steps: Mapping[str, Any]) -> None:
        owned = keys.owned(task.owner)
        pipe.set(keys.fold(task.owner, task.kind, task.instruction), task.id, ex=self._keep_s)
        pipe.zadd(owned, {task.id: task.created_at})
        pipe.zremrangebyscore(owned, "-inf", task.created_at - self._keep_s)
        pipe.expire(owned, self._keep_s)
        if steps:
            pipe.hset(keys.steps(task.id), mapping={name: _packed(value) for name, value in steps.items()})
            pipe.expire(keys.steps(task.id), self._keep_s)
        self._write(pipe, task, "queued", "")

    def _write(self, pipe: Any, task: Task, event: TaskEvent, detail: str) -> None:
        """Everything that goes with a change, into an open transaction."""
        pipe.set(keys.record(task.id), keys.encode(task), ex=self._keep_s)
        if task.open:
            pipe.zadd(keys.OPEN, {task.id: task.changed_at})
        else:
            pipe.zrem(keys.OPEN, task.id)
            pipe.delete(keys.fold(task.owner, task.kind, task.instruction), keys.steps(task.id))
        if task.state is TaskState.RUNNING:
            pipe.sadd(keys.RUNNING, task.id)
        else:
            pipe.srem(keys.RUNNING, task.id)
        pipe.hincrby(keys.COUNTS, event, 1)
        pipe.rpush(keys.told(task.id), json.dumps({"at": task.changed_at, "event": event, "detail": detail}))
        pipe.ltrim(keys.told(task.id), -TOLD_LIMIT, -1)
        pipe.expire(keys.told(task.id), self._keep_s)
        news = {"task_id": task.id, "owner": task.owner, "event": event, "detail": detail}
        pipe.publish(keys.EVENTS, json.dumps(news))
        if task.state in (TaskState.DONE, TaskState.FAILED):
            self._results.put(pipe, task)

    async def _all_of(self, owner: str, limit: int) -> list[Task]:
        names = cast(list[bytes], await self._redis.zrange(keys.owned(owner), 0, limit - 1, desc=True))
        return [task for task in await self._read([name.decode() for name in names]) if task is not None]

    async def _read(self, names: list[str]) -> list[Task | None]:
        wanted = [keys.record(name) for name in names]
        raw = cast(list[bytes | None], await self._redis.mget(wanted)) if wanted else []
        return [None if each is None else keys.decode(each) for each in raw]


def _event(task: Task, event: TaskEvent) -> TaskEvent:
    """What a change amounts to: a failure may be tried again, and taking up may be the end."""
    if event == "failed" and task.open:
        return "retrying"
    return "failed" if event == "running" and not task.open else event


def _packed(value: Any) -> str:
    raw = json.dumps(value, ensure_ascii=False)
    if len(raw) > STEP_LIMIT:
        raise ValueError(f"a step of {len(raw)} characters is too large to keep")
    return raw
