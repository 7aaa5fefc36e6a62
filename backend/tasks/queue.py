"""The queue brings task ids to workers, by means of pydocket, a queue over Redis Streams.

It brings an id to a worker at least once; a worker that dies leaves its ids to another after the lease it did not
renew; a delayed id waits in Redis. It knows nothing of tasks but their ids: see `backend.tasks.repository`.

The library's worker would wake ten times a second to look for cancellations. They come over pub/sub and end its wait
the moment they come, so there is nothing to look for: here it waits for `WAIT_S`. How long it waits is fixed in the
library, so this file reaches into `docket.Docket._pubsub`, which `tests/tasks/test_queue.py` verifies. Its messages
are JSON and never pickles: see `backend.tasks.queue_codec`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from backend.runtime.faults import skip_record
from backend.storage.client import RedisClient
from backend.tasks.queue_codec import replace_pickle

if TYPE_CHECKING:
    from docket import Docket

QUEUE = "tasks-queue"
"""The first word of the queue's own keys in Redis."""
FUNCTION = "think"
"""What the messages name; a message holds this and a task's id."""
NOISY_LOGGERS = ("docket.worker", "docket.strikelist", "docket._redelivery")
"""The library's loggers that log much when Redis is away."""
WARN_AGAIN_AFTER_S = 30.0
"""Seconds between two warnings of one kind."""
KEEP_NOTE_S = 60
"""Seconds the queue keeps its own note of an id that is done; ours is the record."""
HEARTBEAT_S = 5
"""Seconds between two heartbeats of a worker: one that misses two of them is not counted any more."""
MESSAGES_CHECKED = 1_000
"""Messages, the oldest, that are checked when a worker starts."""
WAIT_S = 0.5
"""Seconds one wait for a message may last, and with it the end of a worker."""


class _WarnOnceInAWhile(logging.Filter):
    """The filter passes the library's warnings without tracebacks, each kind once in `WARN_AGAIN_AFTER_S`."""

    def __init__(self) -> None:
        super().__init__()
        self._warned: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        record.exc_info = record.exc_text = None
        last = self._warned.get(record.msg, float("-inf"))
        if record.created - last < WARN_AGAIN_AFTER_S:
            return False
        self._warned[record.msg] = record.created
        return True


class DocketQueue:
    """The docket queue brings ids to workers over an open docket. Every method may raise `MemoryUnavailable`."""

    def __init__(self, docket: Docket) -> None:
        self.docket = docket
        self._client = RedisClient(cast(Any, docket))  # for its time limit and its errors; the docket has connections

    def __repr__(self) -> str:
        return f"DocketQueue({self.docket.name})"

    def set_runner(self, run: Callable[[str], Awaitable[None]]) -> None:
        """Have a worker of this process call `run` with each id. Set it before the worker starts."""

        async def run_task(task_id: str) -> None:  # the library wants a function, not a method
            await run(task_id)

        self.docket.register(run_task, names=[FUNCTION])

    async def enqueue(self, task_id: str) -> None:
        """Bring a task to a worker. Does nothing when it is enqueued or running."""
        await self._client.call(lambda _: self.docket.add(FUNCTION, key=task_id)(task_id))

    async def enqueue_again(self, task_id: str, delay_s: float) -> None:
        """Enqueue a task that runs here: its run is over for the queue when this returns."""
        when = datetime.now(UTC) + timedelta(seconds=delay_s)
        await self._client.call(lambda _: self.docket.replace(FUNCTION, when=when, key=task_id)(task_id))

    async def cancel(self, task_id: str) -> None:
        """Remove a task, or stop it where it runs. A worker that misses the message finds out from the record."""
        await self._client.call(lambda _: self.docket.cancel(task_id))

    async def delete_unreadable(self) -> None:
        """Delete the messages that cannot be decoded: each would end the library's worker again and again."""
        from docket import Execution

        async def delete() -> None:
            stream = self.docket.stream_key
            async with self.docket.redis() as redis:
                for id_, message in cast(list[Any], await redis.xrange(stream, count=MESSAGES_CHECKED)):
                    try:
                        await Execution.from_message(self.docket, message, fallback_task=_no_worker, sync=False)
                    except Exception as error:  # noqa: BLE001 - whatever it is, the library's worker would meet it, too
                        skip_record("queue message", error)
                        await redis.xack(stream, self.docket.worker_group_name, id_)
                        await redis.xdel(stream, id_)

        await self._client.call(lambda _: delete())

    async def workers(self) -> int:
        """Return the number of workers with a heartbeat in the last ten seconds, in all processes."""
        found: Any = await self._client.call(lambda _: self.docket.workers())
        return len(found)


@asynccontextmanager
async def open_queue(url: str | None) -> AsyncIterator[DocketQueue]:
    """Open the queue in the Redis at `url`; None: a queue in this process alone, which ends with it.

    Opening never fails for a Redis that is out of reach: each call then does.
    """
    from docket import Docket  # takes most of a second to import: only where a queue is used

    replace_pickle()

    class PollingDocket(Docket):
        @asynccontextmanager
        async def _pubsub(self) -> AsyncGenerator[Any, None]:
            async with super()._pubsub() as pubsub:
                yield _LongerPolls(pubsub)

        async def get_execution(self, key: str) -> Any:
            raise NotImplementedError("it would read a pickle; the record is our own")

    for name in NOISY_LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, _WarnOnceInAWhile) for each in logger.filters):
            logger.addFilter(_WarnOnceInAWhile())
    docket = PollingDocket(
        name=QUEUE,
        url=url or f"memory://{uuid4()}",
        execution_ttl=timedelta(seconds=KEEP_NOTE_S),
        heartbeat_interval=timedelta(seconds=HEARTBEAT_S),
        missed_heartbeats=2,
    )
    queue = DocketQueue(docket)
    queue.set_runner(_no_worker)
    async with docket:
        yield queue


async def _no_worker(task_id: str) -> None:
    raise NotImplementedError("this process only enqueues")


class _LongerPolls:
    """This pub/sub connection of the library's waits for `WAIT_S` at least."""

    def __init__(self, pubsub: Any) -> None:
        self._pubsub = pubsub

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pubsub, name)

    async def get_message(self, *, timeout: float | None = 0.0, **options: Any) -> Any:
        return await self._pubsub.get_message(timeout=None if timeout is None else max(timeout, WAIT_S), **options)
