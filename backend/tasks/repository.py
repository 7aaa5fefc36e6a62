"""The repository keeps task records in Redis. Every change is one transaction, which also publishes it.

    task:{id}             the record, as JSON               tasks:queue   sorted set: open ids by when one may be taken
    task:{id}:steps       hash: step → its value, as JSON   tasks:turns   sorted set: owners by when one was served
    task:{id}:told        list of progress entries          tasks:events  pub/sub channel of the names of all changes
    task:{id}:archive     list of model calls
    user:{id}:tasks       sorted set: ids by creation
    user:{id}:task:{hash} the open task of an instruction, so that asking twice is one task

A change reads the record, decides (a pure transition of `backend.tasks.task`) and writes. One transaction holds all
parts of the change: the record, its place in the queue, the event for the page, and, if the task ends with an answer or
a failure, the entry in its owner's channel. So no part is ever visible without the others. An undecodable record is
left for a version that can read it, and counts as unknown here.

The queue holds every open task. A waiting task may be taken once its retry is due; a running one once the lease of its
worker has expired, which the worker renews. Owners take turns, even if one of them has created many tasks.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import msgspec
from redis.asyncio import Redis

from backend.errors import TooMany
from backend.page_events import TaskChanged, TaskFindings
from backend.runtime.faults import decode_all, decode_or_skip
from backend.storage.client import Pipe, RedisStore
from backend.tasks import task as tasks
from backend.tasks.task import (
    OPEN_LIMIT,
    ProgressEntry,
    Superseded,
    Task,
    TaskEvent,
    TaskResult,
    TaskState,
    normalised,
)

KEEP_S = 7 * 86_400
"""Seconds a task is kept after its last change."""
PROGRESS_LIMIT = 100
"""The most progress entries of one task."""
STEP_LIMIT = 256 * 1024
"""The most characters of one step."""

LEASE_S = 10.0
"""Seconds a running task's worker may be silent before another takes the task."""
LOOKED_AT = 100
"""The number of longest-waiting tasks from which the next one is chosen."""
UNREADABLE_REST_S = 60.0
"""Seconds a task with an undecodable record is left alone."""

EVENTS = "tasks:events"
QUEUE = "tasks:queue"
TURNS = "tasks:turns"

record_key = "task:{}".format
steps_key = "task:{}:steps".format
progress_key = "task:{}:told".format
model_calls_key = "task:{}:archive".format
owned_key = "user:{}:tasks".format

T = TypeVar("T")
Transition = Callable[[Task], Task]
AddResult = Callable[[Pipe, Task], None]
"""Adds the one entry of a done or failed task to the transaction that ends it."""
Show = Callable[[Pipe, str, TaskChanged], None]
"""Adds an event for that user's open pages to a transaction."""
_task_decoder = msgspec.json.Decoder(Task)
_progress_decoder = msgspec.json.Decoder(ProgressEntry)


class TaskRepository(RedisStore):
    """The tasks of all users. Methods may raise `MemoryUnavailable`."""

    def __init__(
        self,
        redis: Redis,
        add_result: AddResult,
        show: Show = lambda *_: None,
        *,
        keep_s: int = KEEP_S,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(redis)
        self._add_result = add_result
        self._show = show
        self._keep_s = keep_s
        self._lease_s = lease_s
        self._clock = clock

    async def create(self, task: Task, steps: Mapping[str, object]) -> Task:
        """Write a new task, or return the one with its id or open instruction. Raises `TooMany` beyond `OPEN_LIMIT`."""
        fold = fold_key(task.owner, task.kind, task.instruction)

        async def read(pipe: Pipe) -> tuple[Task | None, int]:
            same = cast(bytes | None, await pipe.get(fold))
            itself, twin = await _read(pipe, [task.id, same.decode() if same else task.id])
            known = itself or (twin if twin and twin.open else None)
            return known, 0 if known else sum(each.open for each in await _all_of(pipe, task.owner, 0) if each)

        def write(pipe: Pipe, found: tuple[Task | None, int]) -> Task:
            known, open_now = found
            if known is not None:
                return known
            if open_now >= OPEN_LIMIT:
                hint = "Wait for one of them, or cancel one."
                raise TooMany(f"{OPEN_LIMIT} tasks are already open.", retry_after_s=60, hint=hint)
            self._write_new(pipe, task, steps)
            return task

        return await self._client.transact(fold, record_key(task.id), read=read, write=write)

    async def take(self) -> Task | None:
        """Begin a run of the next task; None when none can be taken. A task fails if three workers died with it."""

        async def read(pipe: Pipe) -> list[tuple[float, Task]]:
            return await self._takeable(pipe)

        def write(pipe: Pipe, found: list[tuple[float, Task]]) -> Task | None:
            if not found:
                return None
            _, chosen = min(found, key=lambda each: each[0])  # each owner's longest waiting task
            now = self._clock()
            task = tasks.begun(chosen, now)
            self._write(pipe, task, "running" if task.open else "failed", "")
            pipe.zadd(TURNS, {task.owner: now})
            pipe.zremrangebyscore(TURNS, "-inf", now - self._keep_s)
            return task

        return await self._client.transact(QUEUE, read=read, write=write)

    async def renew(self, task: Task) -> None:
        """Renew the lease of the run. Raises `Superseded` when the run no longer has the task."""

        def write(pipe: Pipe, now: Task) -> None:
            tasks.owns(now, task.run)
            pipe.zadd(QUEUE, {task.id: self._clock() + self._lease_s})

        await self._transact(task.id, write)

    async def report_progress(self, task: Task, detail: str) -> None:
        """Report the progress of a run, without the user's words. Raises `Superseded`."""
        await self._change(
            task.id, lambda now: tasks.progressed(now, task.run, detail, self._clock()), "progress", detail
        )

    async def save_step(self, task: Task, step: str, value: object) -> None:
        """Keep the value of a step. Raises `Superseded`, or `ValueError` when it is too large or not JSON."""
        raw = _encoded_step(value)

        def write(pipe: Pipe, now: Task) -> None:
            tasks.owns(now, task.run)
            pipe.hset(steps_key(task.id), step, raw)
            pipe.expire(steps_key(task.id), self._keep_s)

        await self._transact(task.id, write)

    async def steps(self, task_id: str) -> dict[str, object]:
        """Return the steps of earlier runs: name → value. An unreadable step is left out, and done again."""
        raw = cast(dict[bytes, bytes], await self._client.call(lambda redis: redis.hgetall(steps_key(task_id))))
        values = {name.decode(): decode_or_skip("task step", value, json.loads) for name, value in raw.items()}
        return {name: value for name, value in values.items() if value is not None}

    async def finish(self, task: Task, result: TaskResult) -> Task:
        """End the run with its answer. Raises `Superseded`."""
        return await self._change(task.id, lambda now: tasks.done(now, task.run, result, self._clock()), "done")

    async def fail(self, task: Task, error: str, *, retry: bool) -> Task:
        """End the run with an error, so that the task is queued again or fails. Raises `Superseded`."""

        def change(now: Task) -> Task:
            return tasks.failed(now, task.run, error, self._clock(), retry=retry)

        return await self._change(task.id, change, "failed", error)

    async def hand_back(self, task: Task) -> None:
        """Queue the task for another worker, because this one ends. Raises `Superseded`."""
        await self._change(task.id, lambda now: tasks.handed_back(now, task.run, self._clock()), "queued")

    async def cancel(self, task_id: str) -> Task:
        """Cancel the task. Raises `Superseded` when it is over or unknown."""
        return await self._change(task_id, lambda task: tasks.canceled(task, self._clock()), "canceled")

    async def find(self, task_id: str) -> Task | None:
        """Return the task of any owner; None when it is unknown."""
        [task] = await self._client.call(lambda redis: _read(redis, [task_id]))
        return cast(Task | None, task)

    async def all_of(self, owner: str, limit: int = 0) -> list[Task]:
        """Return a user's newest tasks, newest first; `limit` 0: all of them."""
        found = await self._client.call(lambda redis: _all_of(redis, owner, limit))
        return [task for task in found if task is not None]

    async def unreadable_of(self, owner: str) -> list[bytes]:
        """Return a user's undecodable records in their stored form."""

        async def read(redis: Redis) -> list[bytes]:
            names = cast(list[bytes], await redis.zrange(owned_key(owner), 0, -1, desc=True))
            raw = await _read_raw(redis, [name.decode() for name in names])
            return [each for each in raw if each is not None and decode(each) is None]

        return cast(list[bytes], await self._client.call(read))

    async def progress(self, task_id: str) -> list[ProgressEntry]:
        """Return the progress of a task, oldest entry first."""
        raw = await self._client.call(lambda redis: redis.lrange(progress_key(task_id), 0, -1))
        return decode_all("progress entry", raw, _progress_decoder.decode)

    async def forget(self, owner: str) -> None:
        """Erase a user's cancelled tasks, including undecodable ones."""

        async def erase(redis: Redis) -> None:
            names = [name.decode() for name in cast(list[bytes], await redis.zrange(owned_key(owner), 0, -1))]
            known = [task for task in await _read(redis, names) if task is not None]
            folds = [fold_key(owner, task.kind, task.instruction) for task in known]
            await redis.delete(owned_key(owner), *folds, *(key for name in names for key in keys_of_task(name)))
            await redis.zrem(TURNS, owner)

        await self._client.call(erase)

    async def _change(self, task_id: str, change: Transition, event: TaskEvent, detail: str = "") -> Task:
        """Make one transition. Raises `Superseded` when it is not possible."""

        def write(pipe: Pipe, now: Task) -> Task:
            task = change(now)
            self._write(pipe, task, _event(task, event), detail)
            return task

        return await self._transact(task_id, write)

    async def _transact(self, task_id: str, write: Callable[[Pipe, Task], T]) -> T:
        """Let `write` decide from the record, and fill a transaction. Raises `Superseded` when there is no record."""

        def decide(pipe: Pipe, raw: bytes | None) -> T:
            task = None if raw is None else decode(raw)
            if task is None:
                raise Superseded("The task no longer exists.")
            return write(pipe, task)

        key = record_key(task_id)
        return await self._client.transact(key, read=lambda pipe: pipe.get(key), write=decide)

    async def _takeable(self, pipe: Pipe) -> list[tuple[float, Task]]:
        """Return the tasks that may be taken, longest wait first, each with the time its owner was last served."""
        now = self._clock()
        names = [name.decode() for name in await pipe.zrangebyscore(QUEUE, "-inf", now, start=0, num=LOOKED_AT)]
        raw = dict(zip(names, await _read_raw(pipe, names), strict=True))
        if gone := [name for name, each in raw.items() if each is None]:
            await pipe.zrem(QUEUE, *gone)  # It has expired, or a full Redis has dropped it.
        found = {name: decode(each) for name, each in raw.items() if each is not None}
        if unreadable := [name for name, task in found.items() if task is None]:
            await pipe.zadd(QUEUE, dict.fromkeys(unreadable, now + UNREADABLE_REST_S))
        takeable = [task for task in found.values() if task is not None]
        turns = await pipe.zmscore(TURNS, [task.owner for task in takeable]) if takeable else []
        return [(served or 0.0, task) for served, task in zip(turns, takeable, strict=True)]

    def _write_new(self, pipe: Pipe, task: Task, steps: Mapping[str, object]) -> None:
        self._list(pipe, task)
        if steps:
            pipe.hset(steps_key(task.id), mapping={name: _encoded_step(value) for name, value in steps.items()})
            pipe.expire(steps_key(task.id), self._keep_s)
        self._write(pipe, task, "queued", "")

    def _list(self, pipe: Pipe, task: Task) -> None:
        """List the task under its owner, and, while it is open, under its instruction."""
        owned = owned_key(task.owner)
        if task.open:
            pipe.set(fold_key(task.owner, task.kind, task.instruction), task.id, ex=self._keep_s)
        pipe.zadd(owned, {task.id: task.created_at})
        pipe.zremrangebyscore(owned, "-inf", task.created_at - self._keep_s)
        pipe.expire(owned, self._keep_s)

    def _write(self, pipe: Pipe, task: Task, event: TaskEvent, detail: str) -> None:
        """Add all parts of a change to an open transaction."""
        pipe.set(record_key(task.id), msgspec.json.encode(task), ex=self._keep_s)
        if task.open:
            is_running = task.state is TaskState.RUNNING
            pipe.zadd(QUEUE, {task.id: self._clock() + self._lease_s if is_running else task.setbacks.ready_at})
        else:
            pipe.zrem(QUEUE, task.id)
            pipe.delete(fold_key(task.owner, task.kind, task.instruction), steps_key(task.id))
        pipe.rpush(progress_key(task.id), msgspec.json.encode(ProgressEntry(task.changed_at, event, detail)))
        pipe.ltrim(progress_key(task.id), -PROGRESS_LIMIT, -1)
        pipe.expire(progress_key(task.id), self._keep_s)
        pipe.publish(EVENTS, event)
        found = TaskFindings(task.result, task.source, task.citations) if event == "done" else None
        self._show(pipe, task.owner, TaskChanged(task.id, event, task.kind, task.instruction, detail, found))
        if task.state in (TaskState.DONE, TaskState.FAILED):
            self._add_result(pipe, task)


async def _all_of(redis: Redis | Pipe, owner: str, limit: int) -> list[Task | None]:
    names = cast(list[bytes], await redis.zrange(owned_key(owner), 0, limit - 1, desc=True))
    return await _read(redis, [name.decode() for name in names])


async def _read(redis: Redis | Pipe, names: list[str]) -> list[Task | None]:
    return [None if each is None else decode(each) for each in await _read_raw(redis, names)]


async def _read_raw(redis: Redis | Pipe, names: list[str]) -> list[bytes | None]:
    return cast(list[bytes | None], await redis.mget([record_key(name) for name in names])) if names else []


def keys_of_task(task_id: str) -> list[str]:
    """Return every key that a task can have. Add new keys here, so that they are erased with the rest."""
    return [record_key(task_id), steps_key(task_id), progress_key(task_id), model_calls_key(task_id)]


def fold_key(owner: str, kind: str, instruction: str) -> str:
    """Return the key that holds the id of the open task with that instruction."""
    digest = hashlib.sha256(f"{kind}\n{normalised(instruction)}".encode()).hexdigest()[:32]
    return f"user:{owner}:task:{digest}"


def decode(raw: bytes) -> Task | None:
    """Return the record; None if it is undecodable, which is counted and logged."""
    return decode_or_skip("task record", raw, _task_decoder.decode)


def _event(task: Task, event: TaskEvent) -> TaskEvent:
    """Return the event that describes a change: a failure may be a retry."""
    return "retrying" if event == "failed" and task.open else event


def _encoded_step(value: object) -> str:
    raw = json.dumps(value, ensure_ascii=False)
    if len(raw) > STEP_LIMIT:
        raise ValueError(f"a step of {len(raw)} characters is too large to keep")
    return raw
