"""What users say in calls and in chat, put into their channels: of those who have tasks, since nobody else needs it.

Nobody waits for it: a sentence that cannot be kept (too many at once, Redis away) is lost to the coordinator, which has
been answered where it was said all the same.
"""

from __future__ import annotations

import asyncio
import logging

from backend.coordinator.channels import Channels
from backend.errors import MemoryUnavailable
from backend.tasks.task import Tasks

log = logging.getLogger(__name__)

ON_THEIR_WAY_LIMIT = 100
"""Sentences on their way at once; further ones are lost."""
CLOSE_WITHIN_S = 1.0


class Overhearing:
    """Call it with user, words and mode ("voice" or "chat"); it returns at once."""

    def __init__(self, channels: Channels, tasks: Tasks) -> None:
        self._channels = channels
        self._tasks = tasks
        self._on_their_way: set[asyncio.Task[None]] = set()
        self.lost = 0
        """Sentences that could not be kept."""

    def __repr__(self) -> str:
        return f"Overhearing({len(self._on_their_way)} on their way, {self.lost} lost)"

    def __call__(self, user_id: str, text: str, mode: str) -> None:
        if len(self._on_their_way) >= ON_THEIR_WAY_LIMIT:
            self.lost += 1
            return
        task = asyncio.create_task(self._put(user_id, text, mode), name="overhearing")
        self._on_their_way.add(task)
        task.add_done_callback(self._on_their_way.discard)

    async def close(self) -> None:
        """Let what is on its way arrive."""
        if self._on_their_way:
            _, late = await asyncio.wait(self._on_their_way, timeout=CLOSE_WITHIN_S)
            for task in late:
                task.cancel()

    async def _put(self, user_id: str, text: str, mode: str) -> None:
        try:
            if await self._tasks.list(user_id, 1):
                await self._channels.say(user_id, text, mode)
        except MemoryUnavailable:
            self.lost += 1
            log.debug("a sentence was not overheard: Redis does not answer")
