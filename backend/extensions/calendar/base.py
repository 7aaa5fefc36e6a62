"""The parts of a calendar: events, the store that keeps them, and the errors it raises.

Ends are exclusive, as in iCalendar: an all-day event of the 24th ends on the 25th.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from backend.errors import ToolFailed
from backend.language.moments import Moment

TITLE_LIMIT = 200
"""The most characters of a title or a place."""
NOTES_LIMIT = 2_000
"""The most characters of notes."""


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event that is not stored yet. Its start and end are both days, or both times."""

    title: str
    start: Moment
    end: Moment
    location: str = ""
    notes: str = ""
    repeats: str = ""
    """An RRULE as `repeats.checked` returns it; empty for an event that happens once."""


@dataclass(frozen=True, slots=True)
class EventChanges:
    """Changes to an event. None keeps a field; an empty text removes it."""

    title: str | None = None
    start: Moment | None = None
    end: Moment | None = None
    length: timedelta | None = None
    """The new length, in place of a new end."""
    location: str | None = None
    notes: str | None = None
    repeats: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence(EventDraft):
    """One occurrence of an event; `repeats` is the rule of its whole series."""

    event_id: str
    original: Moment | None = None
    """The occurrence's original time by the rule, which names it within its series."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event with all its exceptions as it is stored: one iCalendar object."""

    id: str
    """The name under which it is stored, e.g. '5f0c1e9ab2d4.ics'."""
    text: str
    etag: str = ""
    """The server's name for this version; empty where the texts themselves are compared."""


Span = tuple[datetime, datetime]
"""A span of time, as two aware moments."""


class EventStore(Protocol):
    """A store of events, separate for each user. Every method may raise `CalendarUnavailable`,
    `CalendarRefused` or `MemoryUnavailable`."""

    async def events(self, user_id: str, within: Span | None = None) -> list[Stored]:
        """Return all of a user's events; with `within`, those that may happen in that span, and perhaps more."""

    async def get(self, user_id: str, event_id: str) -> Stored:
        """Return one event. Raises `NoSuchEvent`."""

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        """Store a new event. Raises `EventChanged` when the id is taken."""

    async def replace(self, user_id: str, known: Stored, text: str) -> None:
        """Replace `known` with `text`. Raises `EventChanged` when `known` is no longer the stored version."""

    async def remove(self, user_id: str, known: Stored) -> None:
        """Delete `known`. Raises `EventChanged` as `replace` does."""

    async def erase(self, user_id: str) -> None:
        """Delete all of a user's events, and every trace of them."""


class CalendarUnavailable(ToolFailed):
    """The calendar cannot be reached, or has failed; a later request may succeed."""


class _Final(ToolFailed):
    """An error that would occur again if the request were repeated."""

    retryable = False


class CalendarRefused(_Final):
    """The calendar refuses our credentials or the request, or an event is of a kind that is not supported."""


class NoSuchEvent(_Final):
    """No event, or no occurrence, has that id."""

    hint = "List the events, and use the id and the occurrence exactly as the list gives them."


class EventChanged(_Final):
    """Another request changed the event at the same time; this one has changed nothing."""

    hint = "List the events again and tell the user how it stands now."
