"""Everywhere something of a user is kept: who keeps something new adds a line here, so that it is erased, too."""

from __future__ import annotations

from backend.app.calls import Calls
from backend.app.models import Minds
from backend.app.stores import Kept
from backend.app.tasks import Work
from backend.app.thinkers import Thinking
from backend.calendar.calendars import open_calendars
from backend.chat.chat import Chat
from backend.http.services import Keeper
from backend.settings.settings import Settings

ERASE_WITHIN_S = 3.0
"""Seconds what still waits to be written of a user may take before it can be erased."""


def keepers_of(
    settings: Settings, kept: Kept, minds: Minds, thinking: Thinking, work: Work, calls: Calls, chat: Chat
) -> tuple[Keeper, ...]:
    """In the order they erase: what is still at work on a user before what it would write."""
    tasks, coordinating, archive = work.background.board, work.coordinating, minds.archive
    notices, memories, fleet = kept.notices, kept.memories, calls.fleet
    calendars = open_calendars(settings, minds.http)
    return (
        Keeper("tasks", tasks.export, tasks.erase),
        _of_memory(kept, thinking, chat),
        Keeper("coordinator", coordinating.export, coordinating.erase),
        Keeper("reminders", thinking.reminding.export, thinking.reminding.erase),
        Keeper("notices", notices.export, notices.erase),
        Keeper("memories", memories.export, memories.erase),
        Keeper("notes", kept.notes.export, kept.notes.erase),
        Keeper("calendar", calendars.export, calendars.erase),
        Keeper("model attempts", archive.export, archive.erase),
        *((Keeper("calls", fleet.export, fleet.erase),) if fleet else ()),
    )


def _of_memory(kept: Kept, thinking: Thinking, chat: Chat) -> Keeper:
    async def erase(user_id: str) -> None:
        """After all that is on its way to memory: else it would be written there again."""
        await chat.settle(user_id)
        await thinking.pipeline.forget(user_id)
        await thinking.summaries.forget(user_id)
        await kept.outbox.settle(ERASE_WITHIN_S)
        await kept.memory.forget_user(user_id)

    return Keeper("memory", kept.memory.everything_of, erase)
