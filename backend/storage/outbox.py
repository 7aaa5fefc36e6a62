"""The outbox carries out writes to memory one after another, off the audio path.

A job that memory refuses is tried `CHANCES` times, so that it does not delay the others forever. All writes of `Memory`
may be repeated (a topic may be counted twice).
"""

import asyncio
from collections.abc import Callable, Sequence

from backend.errors import MemoryUnavailable
from backend.storage.memory import Memory, MemoryJob
from backend.storage.write_queue import WriteQueue

JOB_TIMEOUT_S = 2.0
"""Seconds one job may take; a single memory call takes at most one."""
CHANCES = 3
"""Tries of a job while memory answers."""

Enqueue = Callable[[MemoryJob], None]
"""Puts a job into the outbox; never waits."""


class Outbox(WriteQueue[MemoryJob]):
    """The writes of this process to memory."""

    def __init__(self, memory: Memory, limit: int = 1000) -> None:
        super().__init__("memory", MemoryUnavailable, self._try, limit=limit)
        self._memory = memory

    async def _try(self, jobs: Sequence[MemoryJob]) -> int:
        """Carry out a job, and return 1 if it is given up. Raises `MemoryUnavailable` when memory does not answer."""
        for job in jobs:
            for _ in range(CHANCES):
                try:
                    async with asyncio.timeout(JOB_TIMEOUT_S):
                        await job(self._memory)
                except (MemoryUnavailable, TimeoutError) as error:
                    if not await self._memory.ping():
                        raise MemoryUnavailable(str(error) or "no answer in time") from error
                else:
                    return 0
            return 1
        return 0
