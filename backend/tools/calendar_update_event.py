"""Changes an event in the user's calendar, once they have agreed."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from backend.calendar.base import BadEvent, Changes, Moment
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
    read_end,
    read_original,
    words,
    zone_for,
)


@tool(
    "calendar_update_event",
    "Changes an event in the user's calendar: one occurrence of a repeating event, or all of it. What is left out "
    "stays as it is; an empty text removes location, notes, or the repeating.",
    requires_auth=True,
    confirm=True,
    cache=False,
    deadline_s=10.0,
    clients=OURS | {"copilot"},
)
async def calendar_update_event(
    calendars: Calendars,
    memory: Memory,
    clock: Clock,
    principal: Principal,
    id: Annotated[str, Field(max_length=255, description="As the list of events gives it.")],  # noqa: A002
    occurrence: Annotated[When, "As listed, to change only that one; left out: the event or the whole series."] = "",
    title: Title | None = None,
    start: Annotated[When, "When it is to begin; the length stays."] = "",
    end: Annotated[When, "When it is to end, date and time; of an all-day event, its last day."] = "",
    duration_minutes: Annotated[Minutes | None, "In the place of an end."] = None,
    location: Place | None = None,
    notes: Notes | None = None,
    repeats: Rule | None = None,
    time_zone: Zone = "",
) -> Result:
    """Raises `BadEvent`, `NoSuchEvent`, `EventChanged`, `CalendarRefused`, `CalendarUnavailable`."""
    zone = await zone_for(memory, principal.user_id, time_zone)
    now = clock.now()
    begins: Moment | None = parse_when(start, now, zone) if start else None
    changes = Changes(
        title=title.strip() if title else None,
        start=begins,
        end=read_end(end, begins if begins is not None else now, zone) if end else None,
        length=timedelta(minutes=duration_minutes) if duration_minutes and not end else None,
        location=location,
        notes=notes,
        repeats=repeats,
    )
    if changes == Changes():
        raise BadEvent("Nothing is to be changed.", hint="Send what is to be different.")
    await calendars.change(principal.user_id, id, changes, read_original(occurrence), now)
    changed = {"id": id, "what": "one occurrence" if occurrence else "the event"}
    if begins is not None:
        changed["when"] = words(begins, zone)
    note = "" if zone or begins is None else NO_ZONE
    return Result({"changed": changed, "calendar": calendars.label}, note=note)
