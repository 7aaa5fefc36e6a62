"""What was really said and heard in one call: a short tail here, for a new line; all of it in memory.

A call may go on with a conversation that was begun earlier, by voice or by text: then the tail begins with its end.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from typing import Literal, cast

from backend.responders.base import PastMessage
from backend.storage.memory import Memory, Message
from backend.storage.outbox import Enqueue

log = logging.getLogger(__name__)

TAIL = 30
"""Messages put back on a new connection."""

EARLIER_CHARS = 2_000
"""Characters of an earlier message put on the line; one that was written may be long."""


class History:
    """One call's words. Nothing here is ever waited for."""

    def __init__(self, user_id: str, conversation_id: str, keep: Enqueue) -> None:
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._keep = keep
        self._tail: deque[PastMessage] = deque(maxlen=TAIL)
        self.count = 0
        """Messages added so far."""

    def __repr__(self) -> str:
        return f"History({len(self._tail)} messages at hand)"

    def tail(self) -> list[PastMessage]:
        """The newest messages, oldest first."""
        return list(self._tail)

    def since(self, count: int) -> list[PastMessage]:
        """Those added after the first `count`, as far as they are at hand."""
        added = self.count - count
        return list(self._tail)[-added:] if added > 0 else []

    def begin_with(self, earlier: Iterable[Message]) -> None:
        """What was said before this call goes before what was said in it."""
        said = [
            PastMessage("user" if message.role == "user" else "assistant", message.content[:EARLIER_CHARS])
            for message in earlier
            if message.said
        ]
        self._tail.extendleft(reversed(said[-(TAIL - len(self._tail)) :] if len(self._tail) < TAIL else []))

    def add(self, role: str, text: str) -> str:
        """Keep one thing said; gives the id it is kept under."""
        speaker = cast(Literal["user", "assistant"], role)
        self._tail.append(PastMessage(speaker, text))
        self.count += 1
        message = Message(speaker, text, time.time())

        async def append(memory: Memory) -> None:
            await memory.append_messages(self._user_id, self._conversation_id, message)

        self._keep(append)
        return message.message_id
