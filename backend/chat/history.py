"""The conversation of a typed turn: the one kept in memory, or the messages the client brings."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from backend.agent.session import ContextStore
from backend.storage.memory import HISTORY_LIMIT, Memory, briefly
from backend.storage.messages import Message, without_retried

log = logging.getLogger(__name__)

HISTORY_WITHIN_S = 0.4
"""Seconds loading a conversation may take; less than the agent gives its store."""


class MemoryConversations:
    """The `ContextStore` over memory: the same conversations that voice calls are kept in.

    A conversation lies among its owner's keys, so nobody else who names its id finds it. Those of a user we do not
    know are not kept: nobody could claim them.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return f"MemoryConversations({self._memory!r})"

    async def load(self, conversation_id: str, user_id: str) -> list[Message]:
        if not user_id:
            return []
        return without_retried(await self._memory.recent_messages(user_id, conversation_id, HISTORY_LIMIT))

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[Message]) -> None:
        if user_id and messages:
            await self._memory.append_messages(user_id, conversation_id, *messages)


class ChatHistory:
    """The `ContextStore` of one typed turn. Where no conversation is kept yet, the client's messages begin it.

    A conversation that cannot be read is answered from the client's messages; then nothing of those is kept.
    """

    def __init__(self, kept: ContextStore | None, earlier: Sequence[tuple[str, str]]) -> None:
        """`kept` None: nothing is kept. `earlier` are the messages the client brings, (role, text)."""
        now = time.time()
        self._kept = kept
        self._earlier = [
            Message("user" if role == "user" else "assistant", text, now, "chat") for role, text in earlier
        ]
        self._to_keep: list[Message] = []
        self.lost = False
        """Whether the kept conversation could not be read."""

    async def load(self, conversation_id: str, user_id: str) -> list[Message]:
        """Load the kept messages, or return those the client brings. Raises nothing."""
        if self._kept is None:
            return list(self._earlier)
        warning = "a typed turn goes on without its conversation"
        loading = self._kept.load(conversation_id, user_id)
        kept = await briefly(loading, None, within_s=HISTORY_WITHIN_S, warning=warning)
        self.lost = kept is None
        if kept is None:
            return list(self._earlier)
        if not kept:
            self._to_keep = list(self._earlier)
        return kept or list(self._earlier)

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[Message]) -> None:
        """Keep a turn's messages, if this conversation is kept."""
        if self._kept is not None:
            await self._kept.append(conversation_id, user_id, [*self._to_keep, *messages])
            self._to_keep = []
