"""Events as iCalendar text (RFC 5545): written, read, expanded. Pure; `edits` changes them.

One text holds one event: its master and, for a series, the exceptions. Each exception is a VEVENT; its RECURRENCE-ID
names the occurrence that it replaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import recurring_ical_events
from icalendar import Calendar, Event, vDDDTypes

from backend.extensions.calendar.base import CalendarRefused, EventDraft, Occurrence, Stored
from backend.language.moments import Moment, as_datetime
from backend.language.repeats import understood

DAY = timedelta(days=1)
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""The errors that the libraries raise on text that is no calendar."""


def write(draft: EventDraft, uid: str, now: datetime) -> str:
    """Return a new event as text. `now` is aware."""
    event = Event()
    event.add("uid", uid)
    event.add("created", now.astimezone(UTC))
    set_property(event, "SUMMARY", draft.title)
    set_property(event, "LOCATION", draft.location)
    set_property(event, "DESCRIPTION", draft.notes)
    set_property(event, "DTSTART", draft.start)
    set_property(event, "DTEND", draft.end)
    set_property(event, "RRULE", draft.repeats)
    calendar = Calendar()
    calendar.add("prodid", "-//responder-thinker//calendar//EN")
    calendar.add("version", "2.0")
    calendar.add_component(event)
    return text_of(calendar, now)


def text_of(calendar: Calendar, now: datetime) -> str:
    """Return a calendar as text, its events stamped with `now`."""
    for event in calendar.events:
        set_property(event, "DTSTAMP", now.astimezone(UTC))
        set_property(event, "LAST-MODIFIED", now.astimezone(UTC))
    return str(calendar.to_ical().decode())


def with_time_zones(text: str) -> str:
    """Return the text with the VTIMEZONEs that RFC 5545 asks for, limited to some years.

    Other programs need them. This server knows zones by name: reading definitions takes ten times as long as the event.
    """
    calendar = parsed(text)
    starts = [as_datetime(event.start).replace(tzinfo=None).date() for event in calendar.events]
    first = min(starts, default=date(2020, 1, 1)).replace(month=1, day=1)
    calendar.add_missing_timezones(first_date=first, last_date=first.replace(year=first.year + 6))
    return str(calendar.to_ical().decode())


def parsed(text: str) -> Calendar:
    """Return the parsed text. Raises one of `UNREADABLE`, or `CalendarRefused` when it holds no event."""
    calendar = Calendar.from_ical(text)
    if not isinstance(calendar, Calendar) or not calendar.events:
        raise CalendarRefused("The stored text holds no event.")
    return calendar


def master_of(calendar: Calendar) -> Event | None:
    """Return the event itself, as opposed to its exceptions."""
    return next((event for event in calendar.events if "RECURRENCE-ID" not in event), None)


def replaces(event: Event) -> Moment | None:
    """Return the occurrence of the series that an exception replaces; None for a master."""
    value: Any = event.get("RECURRENCE-ID")
    return value.dt if value is not None else None


def rule_of(event: Event) -> str:
    """Return the event's RRULE as text; empty when it happens once."""
    rule: Any = event.get("RRULE")
    return str(rule.to_ical().decode()) if rule is not None and not isinstance(rule, list) else ""


def is_series(event: Event) -> bool:
    """Return whether the event repeats."""
    return "RRULE" in event or "RDATE" in event


def occurrences(stored: Stored, start: datetime, end: datetime) -> list[Occurrence]:
    """Return the occurrences between two aware moments; a floating time counts as a time in `start`'s zone.

    Raises one of `UNREADABLE`, or `CalendarRefused` for a rule that is not supported.
    """
    calendar = parsed(stored.text)
    master = master_of(calendar)
    rule = rule_of(master) if master else ""
    for event in calendar.events:
        if "RRULE" in event and not understood(rule_of(event)):
            raise CalendarRefused("The event repeats in a way that is not supported here.")
    repeating = master is not None and is_series(master)
    return [
        Occurrence(
            event_id=stored.id,
            title=_text(event, "SUMMARY") or "untitled",
            start=event.start,
            end=event.end,
            location=_text(event, "LOCATION"),
            notes=_text(event, "DESCRIPTION"),
            repeats=rule,
            original=replaces(event) if repeating else None,
        )
        for event in recurring_ical_events.of(calendar).between(start - DAY, end + DAY)
        if _text(event, "STATUS").upper() != "CANCELLED" and touches(event.start, event.end, start, end)
    ]


def touches(first: Moment, last: Moment, start: datetime, end: datetime) -> bool:
    """Return whether first–last and start–end overlap; floating times count as times in `start`'s zone."""
    begins, ends = (as_datetime(moment, start.tzinfo).astimezone(UTC) for moment in (first, last))
    return begins < end and (ends > start or begins == ends == start)  # an event without length, too


def may_touch(text: str, start: datetime, end: datetime) -> bool:
    """Return False if an event written here cannot happen between the two moments, by a quick look at its text."""
    days: list[str] = re.findall(r"^DT(?:START|END)[^:\r\n]*:(\d{8})", text, re.MULTILINE)
    if not days or "\nDURATION" in text:
        return True
    if min(days) > f"{end + DAY:%Y%m%d}":
        return False
    return "\nRRULE" in text or "\nRDATE" in text or max(days) >= f"{start - DAY:%Y%m%d}"  # a rule goes on


def set_property(event: Event, name: str, value: Any) -> None:
    """Set a property, or remove it for an empty text."""
    event.pop(name, None)
    if value == "":
        return
    if name == "RRULE":
        read: Any = vDDDTypes
        parts = (part.split("=", 1) for part in value.split(";"))
        value = {key: read.from_ical(part) if key == "UNTIL" else part.split(",") for key, part in parts}
    elif isinstance(value, str):
        value = re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "", value)
    event.add(name, value)


def moments(event: Event, name: str) -> list[Moment]:
    """Return the dates of an EXDATE or RDATE property; a period counts as its beginning."""
    value: Any = event.get(name)
    lists: Iterable[Any] = value if isinstance(value, list) else [value] if value is not None else []
    dates = [one.dt for each in lists for one in each.dts]
    return [one[0] if isinstance(one, tuple) else one for one in dates]


def _text(event: Event, name: str) -> str:
    value: Any = event.get(name, "")
    return str(value[0] if isinstance(value, list) else value).strip()
