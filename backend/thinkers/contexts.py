"""Conversations with the agent, kept in memory: they survive a restart, and an idle hour ends them.

A conversation lies in its owner's own scope, under a hash of its id: whoever else names the same id finds nothing,
and forgetting the user forgets it.
"""

from __future__ import annotations

import hashlib
import json
import logging

from backend.agent.context import ContextMessage
from backend.memory.base import HISTORY_TTL_S, Memory

log = logging.getLogger(__name__)


class MemoryContexts:
    """A `ContextStore`. Conversations of a caller we do not know are not kept: nobody could claim them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return f"MemoryContexts({self._memory!r})"

    async def load(self, conversation_id: str, user_id: str) -> list[ContextMessage]:
        """See `ContextStore.load`. What cannot be read any more counts as nothing."""
        stored = await self._memory.cache_get(user_id, _key(conversation_id)) if user_id else None
        if stored is None:
            return []
        try:
            return [ContextMessage.from_json(one) for one in json.loads(stored)]
        except (ValueError, TypeError, KeyError, AttributeError):
            log.warning("a stored conversation cannot be read; it starts anew")
            return []

    async def save(self, conversation_id: str, user_id: str, messages: tuple[ContextMessage, ...]) -> None:
        """See `ContextStore.save`."""
        if user_id:
            value = json.dumps([message.as_json() for message in messages], ensure_ascii=False)
            await self._memory.cache_put(user_id, _key(conversation_id), value, HISTORY_TTL_S)


def _key(conversation_id: str) -> str:
    return f"conversation:{hashlib.sha256(conversation_id.encode()).hexdigest()[:32]}"
