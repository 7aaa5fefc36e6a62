"""Hears what other processes change of a user, for the live calls of that user here.

Every change is told on one channel of Redis in the transaction that makes it, with the name of the process that made
it. Who was not listening (a lost connection) asks anew for every user with a call here: nothing is missed for good.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.errors import MemoryUnavailable
from backend.storage.keys import CHANGES
from backend.storage.pubsub import PubSub
from backend.storage.redis_memory import RedisMemory

log = logging.getLogger(__name__)

REST_S = 1.0
"""Seconds between tries while Redis does not answer."""


@asynccontextmanager
async def following_changes(pubsub: PubSub, memory: RedisMemory) -> AsyncIterator[None]:
    """Until the block ends. Enter it before pub/sub starts."""
    changes = Changes(memory)
    pubsub.subscribe(CHANGES, changes.hear)
    running = asyncio.create_task(changes.run(), name="changes of users")
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


class Changes:
    """Asks anew for users who were changed elsewhere: each once, however often they were."""

    def __init__(self, memory: RedisMemory) -> None:
        self._memory = memory
        self._changed: set[str] = set()
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"Changes({len(self._changed)} users to ask for)"

    def hear(self, raw: bytes | None) -> None:
        """See `pubsub.Hear`."""
        watched = self._memory.watched()
        if raw is None:
            self._changed |= watched
        else:
            origin, _, user_id = raw.decode(errors="replace").partition(" ")
            if origin == self._memory.origin or user_id not in watched:
                return
            self._changed.add(user_id)
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._ask()
            except MemoryUnavailable as error:
                log.info("changes made by other processes are not known yet: %s", error)
                await asyncio.sleep(REST_S)
                self._news.set()

    async def _ask(self) -> None:
        while self._changed:
            user_id = self._changed.pop()
            try:
                context = await self._memory.user_context(user_id)
            except MemoryUnavailable:
                self._changed.add(user_id)
                raise
            self._memory.changed_elsewhere(user_id, context)
