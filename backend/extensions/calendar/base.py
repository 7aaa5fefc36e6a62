"""The parts of a calendar: events, the store that keeps them, and the errors it raises.

Ends are exclusive, as in iCalendar: an all-day event of the 24th ends on the 25th.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from backend.errors import ToolFailed
from backend.language.moments import Moment

TITLE_LIMIT = 200
"""Characters of a title or a place."""
NOTES_LIMIT = 2_000
"""Characters of notes."""


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event that is not stored yet. Start and end are of the same kind."""

    title: str
    start: Moment
    end: Moment
    location: str = ""
    notes: str = ""
    repeats: str = ""
    """An RRULE as `repeats.checked` gives it; empty for an event that happens once."""


@dataclass(frozen=True, slots=True)
class EventChanges:
    """Changes to an event. None keeps a field; an empty text removes it."""

    title: str | None = None
    start: Moment | None = None
    end: Moment | None = None
    length: timedelta | None = None
    """The new length, instead of an end."""
    location: str | None = None
    notes: str | None = None
    repeats: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence(EventDraft):
    """One occurrence of an event; `repeats` is the rule of its whole series."""

    event_id: str
    original: Moment | None = None
    """The name of this occurrence within its series: its original time by the rule."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event with all its exceptions as it is stored: one iCalendar object."""

    id: str
    """The resource's name, e.g. '5f0c1e9ab2d4.ics'."""
    text: str
    etag: str = ""
    """The version that a server names; empty where the text itself is compared."""


Span = tuple[datetime, datetime]
"""Two aware moments."""


class EventStore(Protocol):
    """A store of events, each user's apart. Every method may raise `CalendarUnavailable`,
    `CalendarRefused` or `MemoryUnavailable`."""

    async def events(self, user_id: str, within: Span | None = None) -> list[Stored]:
        """Return all of a user's events; `within`: those that may happen then, and perhaps some more."""

    async def get(self, user_id: str, event_id: str) -> Stored:
        """Return one event. Raises `NoSuchEvent`."""

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        """Store a new event. Raises `EventChanged` when the id is taken."""

    async def replace(self, user_id: str, known: Stored, text: str) -> None:
        """Replace `known` by `text`. Raises `EventChanged` when `known` is no longer the stored version."""

    async def remove(self, user_id: str, known: Stored) -> None:
        """Delete `known`. Raises `EventChanged` as `replace` does."""

    async def erase(self, user_id: str) -> None:
        """Delete all of a user's events, and every trace that there were any."""


class CalendarUnavailable(ToolFailed):
    """The calendar cannot be reached, or has a fault of its own; it may work later."""


class _Final(ToolFailed):
    """A repeated request will not help."""

    retryable = False


class CalendarRefused(_Final):
    """The calendar server does not let us in, or refuses the request."""


class NoSuchEvent(_Final):
    """No event, or no occurrence, of that id."""

    hint = "List the events and use the id, and the occurrence, as they are given there."


class EventChanged(_Final):
    """Another change of the event came at the same time; nothing was changed."""

    hint = "List the events again and tell the user how it stands now."
