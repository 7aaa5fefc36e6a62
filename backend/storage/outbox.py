"""The way from a call to memory: jobs are put here and carried out one after another, beside the audio path.

`put` never waits and never fails. While memory is out of reach, jobs wait in their order and are done when it answers
again; the queue is bounded: when it is full the oldest job is dropped. A job that memory refuses although it answers is
tried `CHANCES` times: none keeps the others waiting for ever. A job may be carried out twice, when the answer to its
first try was lost; so jobs are made of what may be repeated, as all writes of `Memory` may (a topic may be counted
twice). An outage is logged once when it begins and once when it ends, with what was lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from backend.errors import MemoryUnavailable
from backend.storage.memory import Memory, MemoryJob

log = logging.getLogger(__name__)

JOB_TIMEOUT_S = 2.0
"""Seconds one job may take; a single memory call takes one at most."""
CHANCES = 3
"""How often a job is tried while memory answers."""
REST_S = 0.25
"""Seconds between two looks whether memory answers again."""


Keep = Callable[[MemoryJob], None]
"""Hands a job to the outbox; never waits."""


def careful(keep: Keep) -> Keep:
    """`keep`, except that its faults are logged: memory may cost us memory, never the call."""

    def keep_carefully(job: MemoryJob) -> None:
        try:
            keep(job)
        except Exception:
            log.exception("a piece of work for memory was not taken")

    return keep_carefully


@dataclass(frozen=True, slots=True)
class Outage:
    """Since when memory is out of reach, on the steady clock, and how many jobs had been lost before."""

    began: float
    lost_before: int


class Outbox:
    """A bounded queue of `MemoryJob`s and the one task that works through it while there is something in it."""

    def __init__(self, memory: Memory, limit: int = 1000) -> None:
        self._memory = memory
        self._limit = limit
        self._jobs: deque[MemoryJob] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        self._outage: Outage | None = None
        self.dropped = 0
        """Jobs given up because the queue was full or the server is shutting down."""
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
            await self._carry_out(self._jobs.popleft())

    async def _carry_out(self, job: MemoryJob) -> None:
        """Until memory has taken it, or refused it as often as it may."""
        for _ in range(CHANCES):
            try:
                async with asyncio.timeout(JOB_TIMEOUT_S):
                    await job(self._memory)
            except (MemoryUnavailable, TimeoutError) as error:
                self._note_outage(str(error) or "no answer in time")
                await self._answers_again()
            except Exception:
                # A mistake in one job must not silence the memory of every other call.
                self.failed += 1
                log.exception("A memory job failed for a reason of its own.")
                return
            else:
                self._note_success()
                return
        self.failed += 1

    async def _answers_again(self) -> None:
        while True:
            await asyncio.sleep(REST_S)
            if await self._memory.ping():
                return

    def _note_outage(self, reason: str) -> None:
        if self._outage is None:
            log.warning("Memory is out of reach; calls go on, and what they have to keep waits: %s", reason)
            self._outage = Outage(time.monotonic(), self.failed + self.dropped)

    def _note_success(self) -> None:
        if self._outage is not None:
            lost, lasted_s = (
                self.failed + self.dropped - self._outage.lost_before,
                time.monotonic() - self._outage.began,
            )
            log.warning("Memory answers again after %.1f s; %d writes were lost meanwhile.", lasted_s, lost)
            self._outage = None
