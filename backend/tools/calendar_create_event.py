"""Puts an event into the user's calendar."""

from __future__ import annotations

from typing import Annotated

from backend.calendar.base import Draft
from backend.calendar.calendars import Calendars
from backend.calendar.when import parse_when
from backend.storage.memory import Memory
from backend.tools.base import OURS, Clock, Principal, Result, tool
from backend.tools.calendar_times import (
    NO_ZONE,
    Minutes,
    Notes,
    Place,
    Rule,
    Title,
    When,
    Zone,
    end_of,
    shown,
    zone_for,
)


@tool(
    "calendar_create_event",
    "Puts an event, also an all-day or repeating one, into the user's calendar.",
    requires_auth=True,
    cache=False,
    deadline_s=10.0,
    guidance="Calendar: send moments on the user's clock as YYYY-MM-DDTHH:MM, or YYYY-MM-DD for a whole day. Never "
    "guess an hour: ask for it. After creating an event, say its day and time as the result gives them.",
    clients=OURS | {"copilot"},
    persistent=True,
)
async def calendar_create_event(
    calendars: Calendars,
    memory: Memory,
    clock: Clock,
    principal: Principal,
    title: Title,
    start: Annotated[When, "When it begins; a date without a time makes it all-day."],
    end: Annotated[When, "When it ends; of an all-day event, its last day. Left out: an hour, or a day."] = "",
    duration_minutes: Annotated[Minutes | None, "In the place of an end."] = None,
    location: Place = "",
    notes: Notes = "",
    repeats: Rule = "",
    time_zone: Zone = "",
) -> Result:
    """Raises `BadEvent`, `CalendarRefused`, `CalendarUnavailable`."""
    zone = await zone_for(memory, principal.user_id, time_zone)
    now = clock.now()
    begins = parse_when(start, now, zone)
    draft = Draft(title.strip(), begins, end_of(end, duration_minutes, begins, zone), location, notes, repeats)
    made = await calendars.create(principal.user_id, draft, now, once=f"{principal.conversation_id} {principal.turn}")
    return Result({"created": shown(made, zone), "calendar": calendars.label}, note="" if zone else NO_ZONE)
