"""Recall reads conversations from memory, or from the ledger, and can put them back into memory."""

from __future__ import annotations

from backend.storage.ledger.ledger import Ledger
from backend.storage.memory import HISTORY_LIMIT, Memory
from backend.storage.messages import Message

SHOWN_LIMIT = 2_000
"""The most messages of a past conversation: the newest."""


async def recall(
    memory: Memory, ledger: Ledger | None, user_id: str, conversation_id: str, limit: int, *, live: bool = True
) -> list[Message]:
    """Return the newest messages, oldest first. With `live`, messages from the ledger are put back into memory.

    Raises `MemoryUnavailable` or `LedgerUnavailable`: an unreadable conversation is not treated as a new one.
    """
    messages = await memory.recent_messages(user_id, conversation_id, limit)
    if messages or ledger is None:
        return messages
    kept = await ledger.messages(user_id, conversation_id, limit)
    if kept and live:
        await memory.append_messages(user_id, conversation_id, *kept)
    return kept


async def recall_until(
    memory: Memory, ledger: Ledger | None, user_id: str, conversation_id: str, until: float | None
) -> list[Message]:
    """Return the messages up to a Unix time, oldest first. The ledger has those that memory has dropped.

    Raises `MemoryUnavailable` or `LedgerUnavailable`.
    """
    kept = await ledger.messages(user_id, conversation_id, SHOWN_LIMIT, until=until) if ledger else []
    if kept:
        return kept
    messages = await memory.recent_messages(user_id, conversation_id, HISTORY_LIMIT)
    return [message for message in messages if until is None or message.timestamp <= until]
