"""Puts the user's notes that have come due into their next turn, once in each conversation."""

from __future__ import annotations

from backend.agent.context import Note
from backend.middleware.base import Asked, StepOptions, step
from backend.storage.memory import Memory
from backend.tools.notes import shown
from backend.tools.user_clock import zone_for
from backend.users.notes import Notes

TITLE = (
    "Notes of the user's that are due: answer what was asked first, then bring each of these up in one short sentence"
)
MANY_ROUNDS = frozenset({"reason", "research"})
"""Thinkers that work in several rounds, or for long: their answers may leave out what their prompts hold."""


@step(
    "due_notes",
    stage="pre",
    options={"limit": 3},
    deadline_s=0.5,
)
async def due_notes(asked: Asked, notes: Notes | None, memory: Memory, options: StepOptions) -> Note | None:
    """Mention up to `limit` due notes; the others wait for the next turn. Raises `MemoryUnavailable`."""
    if notes is None or not asked.user_id or not asked.conversation_id or asked.domain in MANY_ROUNDS:
        return None
    if not any(note.open and note.due for note in await notes.all(asked.user_id)):
        return None
    zone = await zone_for(memory, asked.user_id, "")
    limit = int(options.values["limit"])
    due = await notes.bring_up(asked.user_id, asked.conversation_id, zone=zone, limit=limit)
    return Note(TITLE, [shown(note, zone) for note in due]) if due else None
