"""What was really said and heard in one call: a short tail here, for a new line; all of it in memory."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Literal, cast

from backend.memory.base import Memory, MemoryJob, Message
from backend.responder.base import Remembered

log = logging.getLogger(__name__)

TAIL = 30
"""Messages put back on a new connection."""

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


class History:
    """One call's words. Nothing here is ever waited for."""

    def __init__(self, session_id: str, keep: Keep) -> None:
        self._session_id = session_id
        self._keep = keep
        self._tail: deque[Remembered] = deque(maxlen=TAIL)
        self.count = 0
        """Messages added so far."""

    def __repr__(self) -> str:
        return f"History({len(self._tail)} messages at hand)"

    def tail(self) -> list[Remembered]:
        """The newest messages, oldest first."""
        return list(self._tail)

    def since(self, count: int) -> list[Remembered]:
        """Those added after the first `count`, as far as they are at hand."""
        added = self.count - count
        return list(self._tail)[-added:] if added > 0 else []

    def add(self, role: str, text: str) -> None:
        """Keep one thing said."""
        speaker = cast(Literal["user", "assistant"], role)
        self._tail.append(Remembered(speaker, text))
        self.count += 1
        message = Message(speaker, text, time.time())

        async def append(memory: Memory) -> None:
            await memory.append_message(self._session_id, message)

        self._keep(append)
