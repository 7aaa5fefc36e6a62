"""Ids of tasks on their way to workers: pydocket, a queue over Redis Streams, behind a protocol of two methods.

What it gives us: an id is brought to a worker at least once; a worker that dies leaves its ids to another after the
lease it did not renew; a delayed id waits in Redis. What it does not know is what a task is: see `records`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from backend.storage.guard import Guard

if TYPE_CHECKING:
    from docket import Docket

QUEUE = "tasks-queue"
"""The first word of the queue's own keys in Redis."""
FUNCTION = "think"
"""What the messages name; a message holds this and a task's id."""
TALKATIVE = ("docket.worker", "docket.strikelist", "docket._redelivery")
"""The library's loggers that have much to say when Redis is away."""
CALM_S = 30.0
"""Seconds between two warnings of one kind."""
KEEP_TRACE_S = 60
"""Seconds the queue keeps its own note of an id that is through; ours is the record."""

HEARTBEAT_S = 5
"""Seconds between two signs of life of a worker: one that gives none for two of them is counted no more."""


class Calm(logging.Filter):
    """The library's warnings without tracebacks, and each kind once in a while: a Redis that is away is told enough."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to tell it."""
        if record.levelno < logging.WARNING:
            return True
        record.exc_info = record.exc_text = None
        last = self._told.get(record.msg, float("-inf"))
        if record.created - last < CALM_S:
            return False
        self._told[record.msg] = record.created
        return True


class Queue(Protocol):
    """Ids of tasks on their way to workers. Every method may raise `MemoryUnavailable`."""

    async def put(self, task_id: str, delay_s: float = 0.0) -> None:
        """Bring it to a worker, not before `delay_s` seconds. Does nothing when it is on its way or running."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Take it off the way; where it runs, stop it. A worker that does not hear it finds out from the record."""
        ...


class DocketQueue:
    """`Queue` over an open docket; see `open_queue`."""

    def __init__(self, docket: Docket) -> None:
        self.docket = docket
        self._call = Guard()

    def __repr__(self) -> str:
        return f"DocketQueue({self.docket.name})"

    async def put(self, task_id: str, delay_s: float = 0.0) -> None:
        """See `Queue.put`."""
        await self._call(lambda: self.docket.add(FUNCTION, when=_in(delay_s), key=task_id)(task_id))

    async def put_again(self, task_id: str, delay_s: float = 0.0) -> None:
        """Bring it once more, though it runs here: what runs is then over for the queue when it returns."""
        await self._call(lambda: self.docket.replace(FUNCTION, when=_in(delay_s), key=task_id)(task_id))

    async def cancel(self, task_id: str) -> None:
        """See `Queue.cancel`."""
        await self._call(lambda: self.docket.cancel(task_id))

    async def workers(self) -> int:
        """How many workers have been heard of in the last ten seconds, in all processes."""
        found: Any = await self._call(self.docket.workers)
        return len(found)


@asynccontextmanager
async def open_queue(url: str | None, run: Callable[..., Awaitable[None]] | None = None) -> AsyncIterator[DocketQueue]:
    """The queue in the Redis at `url`; None: in this process alone, and gone with it.

    `run` is what a worker of this process does with an id; None where none works here. Never fails for a Redis that is
    out of reach: each call then does.
    """
    from backend.tasks.queue_polling import PatientDocket  # takes most of a second to import: only where a queue is

    for name in TALKATIVE:
        logger = logging.getLogger(name)
        if not any(isinstance(each, Calm) for each in logger.filters):
            logger.addFilter(Calm())
    docket = PatientDocket(
        name=QUEUE,
        url=url or f"memory://{uuid4()}",
        execution_ttl=timedelta(seconds=KEEP_TRACE_S),
        heartbeat_interval=timedelta(seconds=HEARTBEAT_S),
        missed_heartbeats=2,
    )
    docket.register(run or _nobody_here, names=[FUNCTION])
    async with docket:
        yield DocketQueue(docket)


async def _nobody_here(task_id: str) -> None:
    """Stands for the work where only ids are put."""
    raise NotImplementedError(task_id)


def _in(delay_s: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=delay_s)


class FakeQueue:
    """For tests, and for who only keeps records: remembers what was asked of it."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.canceled: list[str] = []

    def __repr__(self) -> str:
        return f"FakeQueue({len(self.waiting)} waiting)"

    async def put(self, task_id: str, delay_s: float = 0.0) -> None:
        """See `Queue.put`."""
        if task_id not in self.waiting:
            self.waiting.append(task_id)

    async def cancel(self, task_id: str) -> None:
        """See `Queue.cancel`."""
        self.canceled.append(task_id)
        if task_id in self.waiting:
            self.waiting.remove(task_id)
