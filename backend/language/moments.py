"""Moments as people state them: read from ISO 8601, written, and spoken. Pure.

A moment is a `date` (all day), an aware `datetime`, or a naive one: a *floating* time of RFC 5545, "three o'clock
wherever I am", which is all that is known without the user's time zone.
"""

from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from backend.errors import BadMoment

Moment = date | datetime


def as_datetime(moment: Moment, zone: tzinfo | None = UTC) -> datetime:
    """Return a moment as an aware time: midnight for a date, in `zone` for a floating time; None: UTC."""
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time(), zone or UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC)


def settled(wall: datetime, zone: tzinfo | None) -> datetime:
    """Return a wall-clock time in `zone`, moved ahead where the clocks jump over it; naive for None."""
    if zone is None:
        return wall
    return wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)


def read_moment(text: str) -> Moment | None:
    """Return a day or a moment in ISO 8601, as `written` writes it; None for no text. Raise `BadMoment`."""
    if not text:
        return None
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise BadMoment("There is no such occurrence.", hint="Give it exactly as the list of events does.") from None


def written(moment: Moment, zone: ZoneInfo | None) -> str:
    """Return a moment as ISO 8601, on the reader's clock."""
    return _here(moment, zone).isoformat()


def words(moment: Moment, zone: ZoneInfo | None) -> str:
    """Return a moment in words: 'Friday, 27 November 2026, 15:00'."""
    here = _here(moment, zone)
    day = f"{here:%A}, {here.day} {here:%B %Y}"
    return f"{day}, {here:%H:%M}" if isinstance(here, datetime) else day


def as_said(moment: Moment, zone: ZoneInfo | None) -> str:
    """Return a moment as people say it: 'Friday, 27 November, at 15:00'."""
    here = _here(moment, zone)
    day = f"{here:%A}, {here.day} {here:%B}"
    return f"{day}, at {here:%H:%M}" if isinstance(here, datetime) else day


def zone_of(name: str) -> ZoneInfo | None:
    """Return the time zone of that IANA name; None if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _here(moment: Moment, zone: ZoneInfo | None) -> Moment:
    if isinstance(moment, datetime) and moment.tzinfo is not None and zone is not None:
        return moment.astimezone(UTC).astimezone(zone)  # a time the clocks jump over is one that they do show
    return moment
