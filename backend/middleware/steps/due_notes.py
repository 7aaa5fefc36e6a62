"""This step mentions due reminders in the user's next typed turn; in a call, the call speaks them itself."""

from backend.agent.context import Note
from backend.middleware.base import Asked, StepOptions, step
from backend.notifications.dispatcher import NotificationDispatcher

TITLE = (
    "Notes and reminders of the user's that are due: answer what was asked first, then bring each of these up in one "
    "short sentence"
)


@step("due_notes", stage="pre", options={"limit": 3}, deadline_s=0.5)
async def due_notes(asked: Asked, notices: NotificationDispatcher | None, options: StepOptions) -> Note | None:
    """Return up to `limit` reminders that were not delivered yet. Raises `MemoryUnavailable`."""
    if notices is None or not asked.user_id or not asked.conversation_id or asked.source_mode != "chat":
        return None
    waiting = [notice for notice in await notices.waiting(asked.user_id) if notice.kind == "reminder"]
    due = waiting[: int(options.values["limit"])]
    for notice in due:
        await notices.mark_seen(asked.user_id, notice.id)
    return Note(TITLE, [notice.text for notice in due]) if due else None
