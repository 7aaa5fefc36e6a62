"""A conversation to be gone on with: as memory has it, else as the ledger kept it, which then makes it live again."""

from __future__ import annotations

from backend.storage.ledger.ledger import Ledger
from backend.storage.memory import Memory
from backend.storage.messages import Message


async def recall(
    memory: Memory, ledger: Ledger | None, user_id: str, conversation_id: str, limit: int, *, live: bool = True
) -> list[Message]:
    """Return the newest messages, oldest first; with `live`, those of the ledger are put back into memory.

    Raises `MemoryUnavailable` or `LedgerUnavailable`: what cannot be read is not taken for a new conversation.
    """
    messages = await memory.recent_messages(user_id, conversation_id, limit)
    if messages or ledger is None:
        return messages
    kept = await ledger.messages(user_id, conversation_id, limit)
    if kept and live:
        await memory.append_messages(user_id, conversation_id, *kept)
    return kept
