"""The record of an ended call: kept for a day with the session, and counted in what we know of the user."""

from __future__ import annotations

import time

from backend.sessions.registry import Session
from backend.storage.memory import Memory
from backend.storage.outbox import Enqueue
from backend.users.profile_updates import CountSession, update_profile


def keep_summary(keep: Enqueue, session: Session, reason: str) -> None:
    """Hand the record to memory, or of a deleted session the order to forget; returns at once."""
    summary = {
        "started": session.opened_at,
        "ended": time.time(),
        "reason": reason,
        "transport": session.transport,
        "responder": session.responder,
        **session.counts,
    }
    session_id, owner, conversation_id = session.id, session.owner, session.conversation_id

    async def write(memory: Memory) -> None:
        if reason == "deleted":  # jobs run in order: this also takes what was still waiting to be written
            await memory.forget_session(session_id)
            await memory.forget_conversation(owner, conversation_id)
        else:
            await memory.put_summary(session_id, summary)
        await update_profile(memory, owner, CountSession(time.time()))

    keep(write)
