"""The calendars of all users, separate for each, as the tools use them: they pass drafts and get occurrences.

Reading iCalendar text takes a millisecond an event, so threads do it, and not the event loop that carries the calls.
"""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import httpx2

from backend.extensions.calendar import edits, events
from backend.extensions.calendar.base import (
    CalendarRefused,
    EventChanged,
    EventChanges,
    EventDraft,
    EventStore,
    Occurrence,
    Stored,
)
from backend.extensions.calendar.caldav import CalDavStore
from backend.extensions.calendar.kept import KeptEvents
from backend.extensions.calendar.settings import CalendarSettings
from backend.language.moments import Moment, as_datetime
from backend.language.repeats import checked
from backend.settings.settings import Settings
from backend.storage.memory import Memory


@dataclass(frozen=True, slots=True)
class Listing:
    """The occurrences found in a span of time, in order."""

    occurrences: tuple[Occurrence, ...]
    unreadable: int = 0
    """Events left out because they cannot be read, or repeat in a way that is not supported."""


@dataclass(frozen=True, slots=True)
class Calendars:
    """The service that the calendar's tools use. Its methods raise the errors of `base`."""

    store: EventStore

    async def create(self, user_id: str, draft: EventDraft, now: datetime, once: str) -> Occurrence:
        """Store a new event and return it as stored. A repeating one begins on the first day its rule allows.

        `once` names the request, so that a request that is repeated after a lost answer creates no second event.
        """
        edits.check_span(draft.start, draft.end)
        if draft.repeats:
            draft = await asyncio.to_thread(_on_its_rule, draft)
        name = hashlib.sha256(f"{once} {draft}".encode()).hexdigest()[:12]
        text = await asyncio.to_thread(events.write, draft, name, now)
        with suppress(EventChanged):
            await self.store.create(user_id, f"{name}.ics", text)
        original = draft.start if draft.repeats else None
        return Occurrence(**asdict(draft), event_id=f"{name}.ics", original=original)

    async def between(self, user_id: str, start: datetime, end: datetime) -> Listing:
        """Return all occurrences between two aware moments in the reader's time zone, in order."""
        stored = await self.store.events(user_id, (start, end))
        return await asyncio.to_thread(_listing, stored, start, end)

    async def change(
        self, user_id: str, event_id: str, changes: EventChanges, original: Moment | None, now: datetime
    ) -> None:
        """Change an event; with `original`, only that occurrence of a series."""
        known = await self.store.get(user_id, event_id)
        text = await asyncio.to_thread(edits.changed, known.text, changes, original, now)
        await self.store.replace(user_id, known, text)

    async def remove(self, user_id: str, event_id: str, original: Moment | None, now: datetime) -> None:
        """Delete an event; with `original`, only that occurrence of a series."""
        known = await self.store.get(user_id, event_id)
        if original is None:
            await self.store.remove(user_id, known)
            return
        text = await asyncio.to_thread(edits.without, known.text, original, now)
        await self.store.replace(user_id, known, text)

    async def export(self, user_id: str) -> dict[str, str]:
        """Return all of a user's events as they are stored, id → iCalendar text, for export."""
        return {stored.id: stored.text for stored in await self.store.events(user_id)}

    async def erase(self, user_id: str) -> None:
        """Delete all of a user's events, and every trace of them. A user without events is no error."""
        await self.store.erase(user_id)


def open_calendars(settings: Settings, http: httpx2.AsyncClient, memory: Memory) -> Calendars:
    """Return the calendars on the operator's CalDAV server, or in Redis if none is set. They need not be closed."""
    account = settings.of(CalendarSettings)
    if account.url is None:
        return Calendars(KeptEvents(memory.redis))
    return Calendars(CalDavStore(http, account.url, account.username, account.password.get_secret_value()))


def _on_its_rule(draft: EventDraft) -> EventDraft:
    rule, first = checked(draft.repeats, draft.start)
    length = edits.length_of(draft.start, draft.end)
    return replace(draft, repeats=rule, start=first, end=edits.after(first, length))


def _listing(stored: list[Stored], start: datetime, end: datetime) -> Listing:
    found: list[Occurrence] = []
    unreadable = 0
    for one in stored:
        try:
            found += events.occurrences(one, start, end)
        except (*events.UNREADABLE, CalendarRefused):
            unreadable += 1
    found.sort(key=lambda one: as_datetime(one.start, start.tzinfo).astimezone(UTC))
    return Listing(tuple(found), unreadable)
