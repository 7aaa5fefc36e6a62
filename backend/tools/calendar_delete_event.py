"""Deletes an event from the user's calendar, once they have agreed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from backend.calendar.calendars import Calendars
from backend.tools.base import OURS, Clock, Principal, Result, tool
from backend.tools.calendar_times import When, read_original


@tool(
    "calendar_delete_event",
    "Deletes an event from the user's calendar: one occurrence of a repeating event, or all of it.",
    requires_auth=True,
    confirm=True,
    cache=False,
    deadline_s=10.0,
    clients=OURS | {"copilot"},
)
async def calendar_delete_event(
    calendars: Calendars,
    clock: Clock,
    principal: Principal,
    id: Annotated[str, Field(max_length=255, description="As the list of events gives it.")],  # noqa: A002
    occurrence: Annotated[When, "As listed, to delete only that one; left out: the event or the whole series."] = "",
) -> Result:
    """Raises `NoSuchEvent`, `EventChanged`, `CalendarRefused`, `CalendarUnavailable`."""
    await calendars.remove(principal.user_id, id, read_original(occurrence), clock.now())
    deleted = {"id": id, "what": "one occurrence" if occurrence else "the event, every occurrence included"}
    return Result({"deleted": deleted, "calendar": calendars.label})
