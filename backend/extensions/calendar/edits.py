"""Changes to a stored event: to all of it, or to one occurrence of a series. Pure: text in, text out.

An exception changes one occurrence, and an EXDATE deletes one. When a series moves to another time of day, its
exceptions move along; when it gets other days or another rule, they no longer apply and are removed.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime, time, timedelta
from typing import Any

import recurring_ical_events
from icalendar import Calendar, Event

from backend.errors import BadMoment
from backend.extensions.calendar import events
from backend.extensions.calendar.base import CalendarRefused, EventChanges, NoSuchEvent
from backend.language.moments import Moment, as_datetime
from backend.language.repeats import checked, names_days, understood

HOUR = timedelta(hours=1)


def changed(text: str, changes: EventChanges, original: Moment | None, now: datetime) -> str:
    """Return the event with `changes`; with `original`, only that occurrence. Raises `BadMoment` or `NoSuchEvent`."""
    calendar, master = _opened(text)
    if original is None:
        _change_all(calendar, master, changes)
    else:
        if changes.repeats is not None:
            raise BadMoment("Only a whole series can repeat in another way.", hint="Leave out the occurrence.")
        event = _exception(calendar, original) or _new_exception(calendar, master, original)
        _retime(event, changes.start, changes.end, changes.length)
        _describe(event, changes)
    return events.text_of(calendar, now)


def without(text: str, original: Moment, now: datetime) -> str:
    """Return the series without one occurrence. Raises `NoSuchEvent`."""
    calendar, master = _opened(text)
    if not events.is_series(master):
        raise _no_series()
    exception = _exception(calendar, original)
    if exception is not None:
        when = events.replaces(exception) or original
        calendar.subcomponents.remove(exception)
    else:
        when = _happening(master, original)
    _put_moments(master, "EXDATE", [*events.moments(master, "EXDATE"), when])
    return events.text_of(calendar, now)


def _no_series() -> NoSuchEvent:
    return NoSuchEvent("That event does not repeat.", hint="Leave out the occurrence.")


def _opened(text: str) -> tuple[Calendar, Event]:
    try:
        calendar = events.parsed(text)
    except events.UNREADABLE as error:
        raise CalendarRefused("That event cannot be read.") from error
    master = events.master_of(calendar)
    if master is None:
        raise CalendarRefused("Only a part of that event is stored here, so it cannot be changed.")
    return calendar, master


# --- one occurrence -----------------------------------------------------------------------------------


def _exceptions(calendar: Calendar) -> list[Event]:
    return [event for event in calendar.events if "RECURRENCE-ID" in event]


def _exception(calendar: Calendar, original: Moment) -> Event | None:
    return next((event for event in _exceptions(calendar) if _same(events.replaces(event), original)), None)


def _new_exception(calendar: Calendar, master: Event, original: Moment) -> Event:
    """Add an exception for one regular occurrence, and return it."""
    when = _happening(master, original)
    event = copy.deepcopy(master)
    for name in ("RRULE", "RDATE", "EXDATE", "EXRULE", "DURATION", "CREATED"):
        event.pop(name, None)
    events.set_property(event, "RECURRENCE-ID", when)
    events.set_property(event, "DTSTART", when)
    events.set_property(event, "DTEND", after(when, length_of(master.start, master.end)))
    calendar.add_component(event)
    return event


def _happening(master: Event, original: Moment) -> Moment:
    """Return the time of that occurrence in the time zone of the series. Raises `NoSuchEvent`."""
    if not events.is_series(master) or ("RRULE" in master and not understood(events.rule_of(master))):
        raise _no_series()  # nor are there occurrences by a rule that is not understood
    around = as_datetime(original)
    for when in _starts(master, around - 2 * events.DAY, around + 2 * events.DAY):
        if _same(when, original):
            return when
    raise NoSuchEvent("The series has no such occurrence.")


def _starts(master: Event, first: datetime, last: datetime) -> list[Moment]:
    """Return the starts of the series, without its exceptions, between two moments."""
    alone = Calendar()
    alone.add_component(master)
    return [event.start for event in recurring_ical_events.of(alone).between(first, last)]


def _same(one: Moment | None, other: Moment) -> bool:
    """Return whether both name the same occurrence; a floating time is compared as the wall clock shows it."""
    if not (isinstance(one, datetime) and isinstance(other, datetime)):
        return type(one) is type(other) and one == other
    if one.tzinfo is None or other.tzinfo is None:
        return one.replace(tzinfo=None) == other.replace(tzinfo=None)
    return one.timestamp() == other.timestamp()  # `==` across zones is never true in the repeated hour


# --- all of it ----------------------------------------------------------------------------------------


def _change_all(calendar: Calendar, master: Event, changes: EventChanges) -> None:
    _describe(master, changes)
    if events.is_series(master):
        for exception in _exceptions(calendar):  # an exception in time still gets the new title
            _describe(exception, changes)
    if events.is_series(master) and changes.start is not None:
        _move_series(calendar, master, changes.start, changes)
    else:
        _retime(master, changes.start, changes.end, changes.length)
    if changes.repeats is not None:
        _repeat(calendar, master, changes.repeats)


def _move_series(calendar: Calendar, master: Event, start: Moment, changes: EventChanges) -> None:
    """Move a series to another time on the same days, or let it begin again on another day."""
    old: Moment = master.start
    new = _in_its_terms(start, old)
    end = _in_its_terms(changes.end, old) if changes.end is not None else None
    same_day = _same_day(master, new)
    if same_day is None:
        if changes.repeats is None and names_days(events.rule_of(master)):
            raise BadMoment("The series happens on set days.", hint="To move it to other days, send repeats as well.")
        _forget_exceptions(calendar, master)
        _retime(master, new, end, changes.length)
        return
    shift = new - same_day
    length = changes.length if end is None else length_of(new, end)
    _retime(master, old + shift, None, length)
    _shift_exceptions(calendar, master, shift)


def _same_day(master: Event, new: Moment) -> Moment | None:
    """Return the occurrence on the day of the new start, if any: then only the time of day changes."""
    if isinstance(new, datetime) is not isinstance(master.start, datetime):
        return None
    whole = copy.deepcopy(master)
    whole.pop("EXDATE", None)
    day = new.date() if isinstance(new, datetime) else new
    start = datetime.combine(day, time(), new.tzinfo if isinstance(new, datetime) else None)
    found = _starts(whole, start - events.DAY, start + 2 * events.DAY)
    return next((one for one in found if (one.date() if isinstance(one, datetime) else one) == day), None)


def _in_its_terms(moment: Moment, old: Moment) -> Moment:
    """Return a new time in the time zone of the series, so that it follows the daylight saving time there."""
    if not (isinstance(moment, datetime) and isinstance(old, datetime)):
        return moment
    if old.tzinfo is None or moment.tzinfo is None:
        return moment.replace(tzinfo=old.tzinfo)
    return moment.astimezone(old.tzinfo)


def _shift_exceptions(calendar: Calendar, master: Event, shift: timedelta) -> None:
    for name in ("EXDATE", "RDATE"):
        _put_moments(master, name, [when + shift for when in events.moments(master, name)])
    for exception in _exceptions(calendar):
        when = events.replaces(exception)
        events.set_property(exception, "RECURRENCE-ID", when + shift if when else "")
    rule: Any = master.get("RRULE")
    if rule is not None and "UNTIL" in rule and shift > timedelta():  # else the last occurrence would be lost
        rule["UNTIL"] = [until + shift if isinstance(until, datetime) else until for until in rule["UNTIL"]]


def _forget_exceptions(calendar: Calendar, master: Event) -> None:
    for exception in _exceptions(calendar):
        calendar.subcomponents.remove(exception)
    for name in ("EXDATE", "RDATE"):
        master.pop(name, None)


def _repeat(calendar: Calendar, master: Event, rule: str) -> None:
    _forget_exceptions(calendar, master)
    if not rule:
        master.pop("RRULE", None)
        return
    plain_rule, first = checked(rule, master.start)
    _retime(master, first)
    events.set_property(master, "RRULE", plain_rule)


def _put_moments(event: Event, name: str, dates: list[Moment]) -> None:
    event.pop(name, None)
    if dates:
        event.add(name, dates)


# --- of one VEVENT ------------------------------------------------------------------------------------


def _describe(event: Event, changes: EventChanges) -> None:
    for name, value in (("SUMMARY", changes.title), ("LOCATION", changes.location), ("DESCRIPTION", changes.notes)):
        if value is not None:
            events.set_property(event, name, value)
    sequence: Any = event.get("SEQUENCE", 0)
    events.set_property(event, "SEQUENCE", int(sequence) + 1)


def _retime(
    event: Event, start: Moment | None = None, end: Moment | None = None, length: timedelta | None = None
) -> None:
    """Change the times: another start keeps the length; another end, or length, keeps the start. Raises `BadMoment`."""
    if (start, end, length) == (None, None, None):
        return
    if length is None:
        length = length_of(event.start, event.end)
        if start is not None and isinstance(start, datetime) is not isinstance(event.start, datetime):
            length = HOUR if isinstance(start, datetime) else events.DAY
    start = event.start if start is None else start
    end = end if end is not None else after(start, length)
    check_span(start, end)
    event.pop("DURATION", None)
    events.set_property(event, "DTSTART", start)
    events.set_property(event, "DTEND", end)


def after(start: Moment, length: timedelta) -> Moment:
    """Return the moment `length` after `start` in the same zone; `length` is elapsed time, not wall-clock time."""
    if not isinstance(start, datetime) or start.tzinfo is None:
        return start + length
    return (start.astimezone(UTC) + length).astimezone(start.tzinfo)


def check_span(start: Moment, end: Moment) -> None:
    """Raise `BadMoment` unless both are days or both are times, and the end is after the start."""
    if isinstance(start, datetime) is not isinstance(end, datetime):
        raise BadMoment("One of start and end is a day, and the other is a time.", hint="Send two days or two times.")
    zone = start.tzinfo if isinstance(start, datetime) else None
    if as_datetime(end, zone) <= as_datetime(start, zone):
        raise BadMoment("The end is not after the start.")


def length_of(start: Moment, end: Moment) -> timedelta:
    """Return the elapsed time between both, which is not always the wall-clock time between them."""
    zone = start.tzinfo if isinstance(start, datetime) else None
    return as_datetime(end, zone).astimezone(UTC) - as_datetime(start, zone).astimezone(UTC)
