"""The outbox: writes to memory are enqueued here and carried out one after another, beside the audio path.

`enqueue` never waits and never fails. While memory is out of reach, jobs wait in their order and are done when it
answers again; when the bounded queue is full, the oldest job is dropped. A job that memory refuses although it answers
is tried `CHANCES` times, so that none keeps the others waiting forever. A job may run twice, when the answer
to its first try was lost; all writes of `Memory` may be repeated (a topic may be counted twice). An outage is logged
once when it begins and once when it ends, with what was lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from backend.errors import MemoryUnavailable
from backend.runtime.supervisor import cancel_all, event_or_timeout
from backend.storage.memory import Memory, MemoryJob

log = logging.getLogger(__name__)

JOB_TIMEOUT_S = 2.0
"""Seconds one job may take; a single memory call takes one at most."""
CHANCES = 3
"""Tries of a job while memory answers."""
PING_EVERY_S = 0.25
"""Seconds between two pings while memory does not answer."""

Enqueue = Callable[[MemoryJob], None]
"""Puts a job into the outbox; never waits."""


class Outbox:
    """A bounded queue of `MemoryJob`s, and the one task that carries them out while there are any."""

    def __init__(self, memory: Memory, limit: int = 1000) -> None:
        self._memory = memory
        self._limit = limit
        self._jobs: deque[MemoryJob] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        self._outage: tuple[float, int] | None = None  # when it began on the steady clock, and the jobs lost before
        self.dropped = 0
        """Jobs dropped because the queue was full or the server is shutting down."""
        self.failed = 0
        """Jobs that failed."""

    def __repr__(self) -> str:
        return f"Outbox({self.depth} waiting, {self.failed} failed, {self.dropped} dropped)"

    @property
    def depth(self) -> int:
        """Jobs waiting, without the one being carried out."""
        return len(self._jobs)

    def enqueue(self, job: MemoryJob) -> None:
        """Have `job` carried out soon. Must be called from the event loop's thread; returns immediately."""
        if self._closed:
            self.dropped += 1
            return
        if len(self._jobs) >= self._limit:
            self._jobs.popleft()
            self.dropped += 1
        self._jobs.append(job)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name="memory outbox")

    async def settle(self, within_s: float) -> None:
        """Wait until every job enqueued so far has been tried. Raises `MemoryUnavailable` after `within_s` seconds."""
        reached = asyncio.Event()

        async def reach(_memory: Memory) -> None:
            reached.set()

        self.enqueue(reach)
        await event_or_timeout(reached, within_s)
        if not reached.is_set():
            raise MemoryUnavailable("Memory has not carried out the writes that wait for it.")

    async def drain(self, timeout_s: float) -> None:
        """Finish the waiting jobs within `timeout_s` seconds; the rest is dropped, and so are later ones."""
        self._closed = True
        if self._worker is None:
            return
        await asyncio.wait([self._worker], timeout=timeout_s)
        if not self._worker.done():
            await cancel_all([self._worker])
            self.dropped += 1
        self.dropped += len(self._jobs)
        self._jobs.clear()

    async def _work(self) -> None:
        while self._jobs:
            await self._carry_out(self._jobs.popleft())

    async def _carry_out(self, job: MemoryJob) -> None:
        """Try the job until it succeeds, or has failed `CHANCES` times."""
        for _ in range(CHANCES):
            try:
                async with asyncio.timeout(JOB_TIMEOUT_S):
                    await job(self._memory)
            except (MemoryUnavailable, TimeoutError) as error:
                self._begin_outage(str(error) or "no answer in time")
                while True:
                    await asyncio.sleep(PING_EVERY_S)
                    if await self._memory.ping():
                        break
            except Exception:
                # A mistake in one job must not silence the memory of every other call.
                self.failed += 1
                log.exception("A memory job failed for a reason of its own.")
                return
            else:
                self._end_outage()
                return
        self.failed += 1

    def _begin_outage(self, reason: str) -> None:
        if self._outage is None:
            log.warning("Memory is out of reach; calls go on, and their writes wait: %s", reason)
            self._outage = (time.monotonic(), self.failed + self.dropped)

    def _end_outage(self) -> None:
        if self._outage is not None:
            began, lost_before = self._outage
            lost = self.failed + self.dropped - lost_before
            log.warning(
                "Memory answers again after %.1f s; %d writes were lost meanwhile.", time.monotonic() - began, lost
            )
            self._outage = None
