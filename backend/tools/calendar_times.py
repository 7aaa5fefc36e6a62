"""What the calendar's tools share: whose clock to go by, how arguments become moments, how events are shown."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from backend.calendar.base import NOTES_LIMIT, TITLE_LIMIT, BadEvent, Moment, Occurrence
from backend.calendar.edits import after
from backend.calendar.when import parse_when
from backend.errors import MemoryUnavailable
from backend.storage.memory import Memory
from backend.tools.fetch import refused

log = logging.getLogger(__name__)

MEMORY_WITHIN_S = 0.5
"""How long to wait for the user's time zone."""
NO_ZONE = (
    "The user's time zone is not known: clock times are kept as said, without one. Ask where they are, and keep it "
    "with remember_preference."
)
DAY = timedelta(days=1)
SHOWN_LIMIT = 4_500
"""Characters of JSON that a list of events may take."""
EXCERPT = 200
"""Characters of notes shown in a list."""

Title = Annotated[str, Field(min_length=1, max_length=TITLE_LIMIT)]
Place = Annotated[str, Field(max_length=TITLE_LIMIT)]
Notes = Annotated[str, Field(max_length=NOTES_LIMIT)]
When = Annotated[str, Field(max_length=100)]
Minutes = Annotated[int, Field(ge=1, le=7 * 24 * 60)]
Rule = Annotated[
    str,
    Field(
        max_length=200,
        description="An RRULE, e.g. FREQ=WEEKLY;BYDAY=MO or FREQ=MONTHLY;BYDAY=1FR;COUNT=6; or daily, weekly, "
        "monthly, yearly, weekdays.",
    ),
]
Zone = Annotated[
    str, Field(max_length=64, description="IANA name, only if the user means another place's time than their own.")
]


async def zone_for(memory: Memory, user_id: str, said: str) -> ZoneInfo | None:
    """The time zone the user goes by: the one said, else their own; None when nobody knows. Raises `ToolFailed`."""
    if said:
        if (zone := _zone(said)) is None:
            raise refused("The time zone must be an IANA name, e.g. Europe/Oslo.")
        return zone
    try:
        async with asyncio.timeout(MEMORY_WITHIN_S):
            known = await memory.user_context(user_id)
    except (MemoryUnavailable, TimeoutError):
        log.warning("the calendar goes on without the user's time zone: memory does not answer")
        return None
    preferences = known.get("preferences")
    name = preferences.get("time_zone") if isinstance(preferences, dict) else None
    return _zone(str(name)) if name else None


def end_of(text: str, minutes: int | None, start: Moment, zone: ZoneInfo | None) -> Moment:
    """When a new event ends: as said, or after some minutes; by default an hour, or a day. Raises `BadEvent`."""
    if text:
        return read_end(text, start, zone)
    if not isinstance(start, datetime):
        if minutes is not None:
            raise BadEvent("An all-day event has no length in minutes.", hint="Send a start with a time of day.")
        return start + DAY
    return after(start, timedelta(minutes=minutes or 60))


def read_end(text: str, start: Moment, zone: ZoneInfo | None) -> Moment:
    """An end that was said, reckoned from the start; of all-day events, the last day is said and the next is meant."""
    place = zone or UTC
    anchor = start if isinstance(start, datetime) else datetime.combine(start, datetime.min.time())
    end = parse_when(text, anchor if anchor.tzinfo else anchor.replace(tzinfo=place), zone)
    return end if isinstance(end, datetime) else end + DAY


def read_original(text: str) -> Moment | None:
    """The occurrence meant, as `shown` names it; None for the whole of an event. Raises `BadEvent`."""
    if not text:
        return None
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise BadEvent("There is no such occurrence.", hint="Give it exactly as the list of events does.") from None


def shown(one: Occurrence, zone: ZoneInfo | None) -> dict[str, Any]:
    """An event as the model is shown it, empty things left out. Days are given with the last one included."""
    event: dict[str, Any] = {"id": one.event_id, "title": one.title, "when": words(one.start, zone)}
    event |= {"start": written(one.start, zone), "end": written(_last(one), zone)}
    if not isinstance(one.start, datetime):
        event["all_day"] = True
    if one.original is not None:
        event |= {"occurrence": one.original.isoformat(), "repeats": one.repeats or "on set dates"}
    if one.location:
        event["location"] = one.location[:EXCERPT]
    if one.notes:
        event["notes"] = one.notes[:EXCERPT]
    return event


def fitting(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of them, as many as an answer has room for."""
    room = SHOWN_LIMIT
    chosen = []
    for event in events:
        room -= len(json.dumps(event, ensure_ascii=False))
        if room < 0:
            break
        chosen.append(event)
    return chosen


def written(moment: Moment, zone: ZoneInfo | None) -> str:
    """ISO 8601, on the reader's clock."""
    return _here(moment, zone).isoformat()


def words(moment: Moment, zone: ZoneInfo | None) -> str:
    """'Friday, 27 November 2026, 15:00'."""
    here = _here(moment, zone)
    day = f"{here:%A}, {here.day} {here:%B %Y}"
    return f"{day}, {here:%H:%M}" if isinstance(here, datetime) else day


def _here(moment: Moment, zone: ZoneInfo | None) -> Moment:
    if isinstance(moment, datetime) and moment.tzinfo is not None and zone is not None:
        return moment.astimezone(UTC).astimezone(zone)  # a time the clocks jump over is one that they do show
    return moment


def _last(one: Occurrence) -> Moment:
    return one.end if isinstance(one.end, datetime) else max(one.start, one.end - DAY)


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
