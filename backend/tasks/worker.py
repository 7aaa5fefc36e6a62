"""A worker: takes ids from the queue, runs their tasks, and looks after those the queue has lost.

Any number of them may work, in any process on any machine that reaches the same Redis. A worker that is killed leaves
its ids in the queue, where another finds them once the lease is over; one that ends in order puts them back at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from backend.errors import MemoryUnavailable
from backend.tasks.queue import DocketQueue, open_queue
from backend.tasks.repository import Records
from backend.tasks.run import Again, RunLimits, Runner, Work
from backend.tasks.task import TaskState

log = logging.getLogger(__name__)

STOP_WITHIN_S = 5.0
"""Seconds a worker's end may take."""
BEGIN_TRIES = 5
"""How often a task is tried to be begun, a second apart, while Redis does not answer."""
RESTART_AFTER_S = 1.0
POLL_S = 0.5
"""How long one read of the queue waits, and how often due retries are looked for."""


class Worker:
    """One worker of this process. `concurrency` tasks at once; `lease_s` seconds of silence make it count as dead."""

    def __init__(self, records: Records, work: Work, limits: RunLimits, *, concurrency: int, lease_s: float) -> None:
        self._records = records
        self._runner = Runner(records, work, limits)
        self._limits = limits
        self._concurrency = concurrency
        self._lease_s = lease_s
        self._queue: DocketQueue | None = None
        self._ending = asyncio.Event()
        self.name = f"{socket.gethostname()}#{os.getpid()}#{secrets.token_hex(3)}"

    def __repr__(self) -> str:
        return f"Worker({self.name}, {self._runner.running} of {self._concurrency} running)"

    @property
    def running(self) -> int:
        """How many tasks run here."""
        return self._runner.running

    @asynccontextmanager
    async def working(self, url: str | None) -> AsyncIterator[DocketQueue]:
        """Work on the queue in the Redis at `url` (None: this process's own) until the end of the block."""

        async def think(task_id: str) -> None:
            await self._think(task_id)

        async with open_queue(url, think) as queue:
            self._queue = queue
            working = asyncio.create_task(self._work(queue), name="task worker")
            sweeping = asyncio.create_task(self._sweep(queue), name="task sweeper")
            try:
                yield queue
            finally:
                sweeping.cancel()
                self._ending.set()
                await asyncio.sleep(0)  # it takes no further id before what runs is handed back
                self._runner.stop()
                _, late = await asyncio.wait({working, sweeping}, timeout=STOP_WITHIN_S)
                if late:
                    log.warning("a worker did not end in time; its tasks go to another when the lease is over")
                    working.cancel()

    async def _work(self, queue: DocketQueue) -> None:
        """Until the end; the library's worker is started again should it ever fail."""
        while not self._ending.is_set():
            try:
                await self._serve(queue)
            except Exception as error:
                log.error("a worker failed, and is started again: %s", type(error).__name__, exc_info=error)
                await asyncio.sleep(RESTART_AFTER_S)

    async def _serve(self, queue: DocketQueue) -> None:
        """The library's worker, until it fails or we end: leaving its block makes it finish what runs, and stop."""
        from docket import Worker as DocketWorker

        poll = timedelta(seconds=min(POLL_S, self._lease_s / 8))
        async with DocketWorker(
            queue.docket,
            name=self.name,
            concurrency=self._concurrency,
            redelivery_timeout=timedelta(seconds=self._lease_s),
            reconnection_delay=timedelta(seconds=1),
            minimum_check_interval=poll,
            scheduling_resolution=poll,
            schedule_automatic_tasks=False,
        ) as worker:
            serving = asyncio.create_task(worker.run_forever(), name="queue worker")
            ending = asyncio.create_task(self._ending.wait())
            await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
        await serving

    async def _think(self, task_id: str) -> None:
        """What the queue has us do with an id: run it, and put it back where it is to be run once more."""
        again = await self._run(task_id)
        if again is not None and self._queue is not None:
            await self._queue.put_again(task_id, again.delay_s)

    async def _run(self, task_id: str) -> Again | None:
        for _ in range(BEGIN_TRIES):
            with contextlib.suppress(MemoryUnavailable):
                return await self._runner.run(task_id)
            await asyncio.sleep(1.0)
        return Again(self._lease_s)

    async def _sweep(self, queue: DocketQueue) -> None:
        """Bring to a worker what is open and not on its way: its creator died in between, or Redis lost a message.

        For an id that is on its way or running, putting it changes nothing.
        """
        while True:
            await asyncio.sleep(self._lease_s)
            with contextlib.suppress(MemoryUnavailable):
                if not await self._records.take_turn(self._lease_s):
                    continue
                now = time.time()
                for task in await self._records.unmoved(now - 3 * self._lease_s):
                    due = task.state is TaskState.RUNNING or task.ready_at < now - self._lease_s
                    if due:
                        await queue.put(task.id)
