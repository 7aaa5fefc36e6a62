"""Events to test with, and short forms of them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from backend.extensions.calendar.base import EventDraft, Occurrence, Stored
from backend.extensions.calendar.events import occurrences, write
from backend.language.moments import Moment

NEW_YORK = ZoneInfo("America/New_York")
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 10, 20, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def at(text: str, zone: ZoneInfo | None = NEW_YORK) -> datetime:
    """A wall-clock time, e.g. '2026-10-30 09:30'."""
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def event(start: Moment, end: Moment, repeats: str = "", **texts: str) -> str:
    """The text of a new event."""
    return write(EventDraft(texts.pop("title", "Standup"), start, end, repeats=repeats, **texts), "e1", NOW)


def standup(repeats: str = "FREQ=DAILY", start: str = "2026-10-30 09:30") -> str:
    """Half an hour every day, across New York's change of clocks on 1 November."""
    return event(at(start), at(start) + HOUR / 2, repeats)


def found(text: str, start: str = "2026-10-01", days: int = 40, zone: ZoneInfo = NEW_YORK) -> list[Occurrence]:
    """The events from the start of a day on."""
    first = at(f"{start} 00:00", zone)
    listed = occurrences(Stored("e1.ics", text, "1"), first, first + days * DAY)
    return sorted(listed, key=lambda one: str(one.start))


def starts(text: str, start: str = "2026-10-01", days: int = 40, zone: ZoneInfo = NEW_YORK) -> list[str]:
    """The start in short: '10-30 09:30', or '10-30' for a whole day."""
    return [_short(one.start) for one in found(text, start, days, zone)]


def _short(moment: Moment) -> str:
    return f"{moment:%m-%d %H:%M}" if isinstance(moment, datetime) else f"{moment:%m-%d}"
