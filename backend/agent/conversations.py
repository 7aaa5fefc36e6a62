"""Conversations in memory, as the agent reads and continues them: the same ones that calls are kept in.

A conversation lies among its owner's keys: whoever else names the same id finds nothing, and forgetting the user
forgets it. It survives a restart, and an idle hour ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from backend.agent.context import ContextMessage
from backend.models.base import ToolCall
from backend.storage.memory import HISTORY_LIMIT, Call, Memory, Message, without_retried


class MemoryConversations:
    """A `ContextStore`. Conversations of a caller we do not know are not kept: nobody could claim them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return f"MemoryConversations({self._memory!r})"

    async def load(self, conversation_id: str, user_id: str) -> list[ContextMessage]:
        """See `ContextStore.load`."""
        if not user_id:
            return []
        kept = await self._memory.recent_messages(user_id, conversation_id, HISTORY_LIMIT)
        return [_as_context(message) for message in without_retried(kept)]

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[ContextMessage]) -> None:
        """See `ContextStore.append`."""
        if user_id and messages:
            await self._memory.append_messages(user_id, conversation_id, *map(_as_message, messages))


def _as_context(message: Message) -> ContextMessage:
    return ContextMessage(
        role=message.role,
        content=message.content,
        timestamp=message.at,
        source_mode=message.source_mode,
        message_id=message.message_id,
        tool_call_id=message.tool_call_id,
        tool_calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in message.tool_calls),
        citations=message.citations,
    )


def _as_message(message: ContextMessage) -> Message:
    return Message(
        role=message.role,
        content=message.content,
        at=message.timestamp,
        source_mode=message.source_mode,
        message_id=message.message_id,
        tool_call_id=message.tool_call_id,
        tool_calls=tuple(Call(call.id, call.name, call.arguments) for call in message.tool_calls),
        citations=message.citations,
    )
