"""Looks into the user's calendar."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from backend.calendar.base import BadEvent, Moment, Occurrence
from backend.calendar.calendars import Calendars
from backend.calendar.when import parse_when, settled
from backend.storage.memory import Memory
from backend.tools.base import OURS, Clock, Principal, Result, tool
from backend.tools.calendar_times import DAY, NO_ZONE, When, Zone, fitting, shown, zone_for

SPAN = timedelta(days=7)
"""Looked at unless an end is given."""
SPAN_LIMIT = timedelta(days=366)


@tool(
    "calendar_list_events",
    "Lists what is in the user's calendar between two moments, repeating events included.",
    requires_auth=True,
    cache=False,
    guidance="Calendar: to change or delete an event, list it first and use its id, and the occurrence of a repeating "
    "one, exactly as given. Both ask the user first: nothing is done until they have agreed and the same call was made "
    "again.",
    clients=OURS | {"copilot"},
    persistent=True,
)
async def calendar_list_events(
    calendars: Calendars,
    memory: Memory,
    clock: Clock,
    principal: Principal,
    start: Annotated[When, "The first day, or a moment."] = "today",
    end: Annotated[When, "The last day, included, or a moment. Left out: a week from the start."] = "",
    query: Annotated[str, Field(max_length=100, description="Only events with these words.")] = "",
    time_zone: Zone = "",
) -> Result:
    """Raises `BadEvent`, `CalendarRefused`, `CalendarUnavailable`."""
    zone = await zone_for(memory, principal.user_id, time_zone)
    first, last = _span(start, end, clock.now(), zone)
    listing = await calendars.between(principal.user_id, first, last)
    matching = [shown(one, zone) for one in listing.occurrences if _matches(one, query)]
    events = fitting(matching)
    data: dict[str, Any] = {"events": events, "from": first.isoformat(), "to": last.isoformat()}
    if len(events) < len(matching):
        data["more"] = len(matching) - len(events)
    if listing.unreadable:
        data["left_out"] = f"{listing.unreadable} that cannot be read"
    return Result(data | {"calendar": calendars.label}, note="" if zone else NO_ZONE)


def _span(start: str, end: str, now: datetime, zone: ZoneInfo | None) -> tuple[datetime, datetime]:
    """The two moments, on the reader's clock; a last day is included. Raises `BadEvent`."""
    first = _moment(parse_when(start or "today", now, zone), zone)
    if not end:
        return first, _moment(first.date(), zone) + SPAN
    until = parse_when(end, max(now, first), zone)
    last = _moment(until if isinstance(until, datetime) else until + DAY, zone)
    if last <= first:
        raise BadEvent("The end is not after the start.")
    if last - first > SPAN_LIMIT:
        raise BadEvent("That is more than a year.", hint="Ask for a shorter time.")
    return first, last


def _moment(moment: Moment, zone: ZoneInfo | None) -> datetime:
    """As an aware time: a day as its beginning, what floats in UTC."""
    if not isinstance(moment, datetime):
        return settled(datetime.combine(moment, time()), zone or UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _matches(one: Occurrence, query: str) -> bool:
    text = f"{one.title} {one.location} {one.notes}".casefold()
    return all(word in text for word in query.casefold().split())
