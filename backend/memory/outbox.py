"""The way from a call to memory: jobs are put here and carried out one after another, beside the audio path.

`put` never waits and never fails. The queue is bounded: when it is full the oldest job is dropped. A job that
fails is lost, and counted; an outage is logged once when it begins and once when it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from backend.errors import MemoryUnavailable
from backend.memory.base import Memory, MemoryJob

log = logging.getLogger(__name__)

JOB_TIMEOUT_S = 2.0
"""Seconds one job may take; a single memory call takes one at most."""


class Outbox:
    """A bounded queue of `MemoryJob`s and the one task that works through it while there is something in it."""

    def __init__(self, memory: Memory, limit: int = 1000) -> None:
        self._memory = memory
        self._limit = limit
        self._jobs: deque[MemoryJob] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        self._lost_in_outage = 0
        self.dropped = 0
        """Jobs never tried, because the queue was full or the server is shutting down."""
        self.failed = 0
        """Jobs tried in vain."""

    def __repr__(self) -> str:
        return f"Outbox({self.depth} waiting, {self.failed} failed, {self.dropped} dropped)"

    @property
    def depth(self) -> int:
        """Jobs waiting, without the one at work."""
        return len(self._jobs)

    def put(self, job: MemoryJob) -> None:
        """Have `job` done soon. Called from the event loop's thread; returns at once."""
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
        """Until all that was put before now has been tried. Raises `MemoryUnavailable` when that takes too long."""
        reached = asyncio.Event()

        async def reach(_memory: Memory) -> None:
            reached.set()

        self.put(reach)
        try:
            async with asyncio.timeout(within_s):
                await reached.wait()
        except TimeoutError:
            raise MemoryUnavailable("Memory has not taken what is waiting for it.") from None

    async def drain(self, timeout_s: float) -> None:
        """Finish what waits, within `timeout_s`; the rest is dropped, and so is what is put later."""
        self._closed = True
        if self._worker is None:
            return
        await asyncio.wait([self._worker], timeout=timeout_s)
        if not self._worker.done():
            self._worker.cancel()
            await asyncio.wait([self._worker])
            self.dropped += 1
        if self._jobs:
            self.dropped += len(self._jobs)
            self._jobs.clear()

    async def _work(self) -> None:
        while self._jobs:
            await self._do(self._jobs.popleft())

    async def _do(self, job: MemoryJob) -> None:
        try:
            async with asyncio.timeout(JOB_TIMEOUT_S):
                await job(self._memory)
        except (MemoryUnavailable, TimeoutError) as error:
            self._note_failure(str(error) or "no answer in time")
        except Exception:
            # A mistake in one job must not silence the memory of every other call.
            self.failed += 1
            log.exception("A memory job failed for a reason of its own.")
        else:
            self._note_success()

    def _note_failure(self, reason: str) -> None:
        self.failed += 1
        if self._lost_in_outage == 0:
            log.warning("Memory is out of reach, calls go on without it: %s", reason)
        self._lost_in_outage += 1

    def _note_success(self) -> None:
        if self._lost_in_outage:
            log.warning("Memory answers again; %d writes were lost meanwhile.", self._lost_in_outage)
            self._lost_in_outage = 0
