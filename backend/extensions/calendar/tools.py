"""The user's calendar: listing events, and creating, changing and deleting them.

Times are read in the user's own time zone. Changing and deleting an event needs the user's agreement.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from backend.access.principal import ToolScope
from backend.errors import BadMoment
from backend.extensions.calendar.base import (
    NOTES_LIMIT,
    TITLE_LIMIT,
    EventChanges,
    EventDraft,
    Occurrence,
)
from backend.extensions.calendar.calendars import Calendars
from backend.extensions.calendar.edits import after
from backend.extensions.calendar.events import DAY
from backend.extensions.calendar.settings import CalendarSettings
from backend.language.dates import parse_days, parse_when
from backend.language.moments import Moment, as_datetime, as_said, read_moment, words, written
from backend.settings.settings import Settings
from backend.tools.base import OURS, Clock, Result, ToolContext, fitting, listed, matches, tool
from backend.tools.own_profile import NO_ZONE, OwnProfile, When, Zone

EXCERPT = 200
"""The most characters of notes that a list shows."""

TITLES = ["Lunch with Ana", "Meeting with the bank", "Dentist appointment"]
Title = Annotated[str, Field(min_length=1, max_length=TITLE_LIMIT, examples=TITLES)]
Place = Annotated[str, Field(max_length=TITLE_LIMIT)]
Notes = Annotated[str, Field(max_length=NOTES_LIMIT)]
Minutes = Annotated[int, Field(ge=1, le=7 * 24 * 60)]
Rule = Annotated[
    str,
    Field(
        max_length=200,
        description="An RRULE, e.g. FREQ=WEEKLY;BYDAY=MO or FREQ=MONTHLY;BYDAY=1FR;COUNT=6; or daily, weekly, "
        "monthly, yearly, weekdays.",
    ),
]
Id = Annotated[str, Field(max_length=255, description="As the list of events gives it.")]
SPAN = timedelta(days=7)
"""The time listed when no end is given."""
SPAN_LIMIT = timedelta(days=366)


def _scope(settings: Settings) -> ToolScope:
    """Return the operator's scope if the calendars are in the operator's account."""
    return ToolScope.OPERATOR if settings.of(CalendarSettings).url else ToolScope.SIGNED_IN


private_tool = partial(tool, scope=_scope, cache=False, clients=OURS | {"copilot"})
"""Declares a tool on the data of one user: the user must be signed in, and no result is shared through the cache."""


@private_tool(
    "calendar_list_events",
    "Lists what is in the user's calendar between two moments, repeating events included.",
    guidance="Calendar: to change or delete an event, list it first and use its id, and the occurrence of a repeating "
    "one, exactly as given. Both ask the user first: nothing is done until they have agreed and the same call was made "
    "again.",
    persistent=True,
)
async def calendar_list_events(
    calendars: Calendars,
    own: OwnProfile,
    clock: Clock,
    context: ToolContext,
    start: Annotated[When, "The first day, or a moment; or days, e.g. 'next week'."] = "today",
    end: Annotated[When, "The last day, included, or a moment. Left out: a week from the start."] = "",
    query: Annotated[str, Field(max_length=100, description="Only events with these words.")] = "",
    time_zone: Zone = "",
) -> Result:
    """List events. Raises `BadMoment`, `CalendarRefused`, `CalendarUnavailable`."""
    zone = await own.zone(time_zone)
    first, last = _span(start, end, clock.now(), zone)
    listing = await calendars.between(context.user_id, first, last)
    found = [one for one in listing.occurrences if matches(f"{one.title} {one.location} {one.notes}", query)]
    events = fitting([shown(one, zone) for one in found])
    more = {"more": len(found) - len(events)} if len(events) < len(found) else {}
    left_out = {"left_out": f"{listing.unreadable} that cannot be read"} if listing.unreadable else {}
    span = {"from": first.isoformat(), "to": last.isoformat()}
    data = {"events": events, **span, **more, **left_out}
    said = listed([f"{one.title}, {as_said(one.start, zone)}" for one in found])
    spoken = f"In your calendar: {said}." if found else "There is nothing in your calendar then."
    return Result(data, note="" if zone else NO_ZONE, spoken=spoken)


@private_tool(
    "calendar_create_event",
    "Puts an event, also an all-day or repeating one, into the user's calendar.",
    writes=True,
    deadline_s=10.0,
    guidance="Calendar: send moments on the user's clock as YYYY-MM-DDTHH:MM, or YYYY-MM-DD for a whole day. Never "
    "guess an hour: ask for it. After creating an event, say its day and time as the result gives them.",
    persistent=True,
)
async def calendar_create_event(
    calendars: Calendars,
    own: OwnProfile,
    clock: Clock,
    context: ToolContext,
    title: Title,
    start: Annotated[When, "When it begins; a date without a time makes it all-day."],
    end: Annotated[When, "When it ends; of an all-day event, its last day. Left out: an hour, or a day."] = "",
    duration_minutes: Annotated[Minutes | None, "In the place of an end."] = None,
    location: Place = "",
    notes: Notes = "",
    repeats: Rule = "",
    time_zone: Zone = "",
) -> Result:
    """Create an event. Raises `BadMoment`, `CalendarRefused`, `CalendarUnavailable`."""
    zone = await own.zone(time_zone)
    now = clock.now()
    begins = parse_when(start, now, zone)
    draft = EventDraft(title.strip(), begins, end_of(end, duration_minutes, begins, zone), location, notes, repeats)
    made = await calendars.create(context.user_id, draft, now, once=f"{context.conversation_id} {context.turn}")
    return Result(
        {"created": shown(made, zone)},
        note="" if zone else NO_ZONE,
        spoken=f"It is in your calendar: {made.title}, {as_said(made.start, zone)}.",
    )


@private_tool(
    "calendar_update_event",
    "Changes an event in the user's calendar: one occurrence of a repeating event, or all of it. What is left out "
    "stays as it is; an empty text removes location, notes, or the repeating.",
    confirm=True,
    deadline_s=10.0,
)
async def calendar_update_event(
    calendars: Calendars,
    own: OwnProfile,
    clock: Clock,
    context: ToolContext,
    id: Id,  # noqa: A002
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
    """Change an event. Raises `BadMoment`, `NoSuchEvent`, `EventChanged`, `CalendarRefused`, `CalendarUnavailable`."""
    zone = await own.zone(time_zone)
    now = clock.now()
    begins = parse_when(start, now, zone) if start else None
    changes = EventChanges(
        title=title.strip() if title else None,
        start=begins,
        end=read_end(end, begins or now, zone) if end else None,
        length=timedelta(minutes=duration_minutes) if duration_minutes and not end else None,
        location=location,
        notes=notes,
        repeats=repeats,
    )
    if changes == EventChanges():
        raise BadMoment("The request changes nothing.", hint="Send the fields that are to change.")
    await calendars.change(context.user_id, id, changes, read_moment(occurrence), now)
    changed = {"id": id, "what": "one occurrence" if occurrence else "the event"}
    if begins:
        changed["when"] = words(begins, zone)
    note = NO_ZONE if begins and not zone else ""
    spoken = f"Done. It is now on {as_said(begins, zone)}." if begins else "Done."
    return Result({"changed": changed}, note=note, spoken=spoken)


@private_tool(
    "calendar_delete_event",
    "Deletes an event from the user's calendar: one occurrence of a repeating event, or all of it.",
    confirm=True,
    deadline_s=10.0,
)
async def calendar_delete_event(
    calendars: Calendars,
    clock: Clock,
    context: ToolContext,
    id: Id,  # noqa: A002
    occurrence: Annotated[When, "As listed, to delete only that one; left out: the event or the whole series."] = "",
) -> Result:
    """Delete an event. Raises `NoSuchEvent`, `EventChanged`, `CalendarRefused`, `CalendarUnavailable`."""
    await calendars.remove(context.user_id, id, read_moment(occurrence), clock.now())
    deleted = {"id": id, "what": "one occurrence" if occurrence else "the event, every occurrence included"}
    spoken = "Done. It is no longer in your calendar."
    return Result({"deleted": deleted}, spoken=spoken)


def end_of(text: str, minutes: int | None, start: Moment, zone: ZoneInfo | None) -> Moment:
    """Return a new event's end: by `text` or `minutes`, else after an hour or a day. Raises `BadMoment`."""
    if text:
        return read_end(text, start, zone)
    if not isinstance(start, datetime):
        if minutes is not None:
            raise BadMoment("An all-day event has no length in minutes.", hint="Send a start with a time of day.")
        return start + DAY
    return after(start, timedelta(minutes=minutes or 60))


def read_end(text: str, start: Moment, zone: ZoneInfo | None) -> Moment:
    """Return the end that `text` names, relative to the start; for an all-day event, `text` names the last day."""
    end = parse_when(text, as_datetime(start, zone), zone)
    return end if isinstance(end, datetime) else end + DAY


def shown(one: Occurrence, zone: ZoneInfo | None) -> dict[str, str | bool]:
    """Return an event as the model sees it, without empty fields. The end of an all-day event is its last day."""
    event: dict[str, str | bool] = {"id": one.event_id, "title": one.title, "when": words(one.start, zone)}
    last = one.end if isinstance(one.end, datetime) else max(one.start, one.end - DAY)
    event |= {"start": written(one.start, zone), "end": written(last, zone)}
    if not isinstance(one.start, datetime):
        event["all_day"] = True
    if one.original is not None:
        event |= {"occurrence": one.original.isoformat(), "repeats": one.repeats or "on set dates"}
    if one.location:
        event["location"] = one.location[:EXCERPT]
    if one.notes:
        event["notes"] = one.notes[:EXCERPT]
    return event


def _span(start: str, end: str, now: datetime, zone: ZoneInfo | None) -> tuple[datetime, datetime]:
    """Return the two moments in the reader's time zone; the last day is included. Raises `BadMoment`."""
    begins, last_day = parse_days(start or "today", now, zone)
    first = as_datetime(begins, zone)
    if not end and last_day == begins:
        return first, as_datetime(first.date(), zone) + SPAN
    if not end:
        return first, as_datetime(last_day + DAY, zone)
    last = _end(end, now, zone)
    if last <= first:  # "at five" after "tomorrow at three" is tomorrow
        last = _end(end, first, zone)
    if last <= first:
        raise BadMoment("The end is not after the start.")
    if last - first > SPAN_LIMIT:
        raise BadMoment("The time asked for is more than a year.", hint="Ask for a shorter time.")
    return first, last


def _end(said: str, now: datetime, zone: ZoneInfo | None) -> datetime:
    _, until = parse_days(said, now, zone)
    return as_datetime(until if isinstance(until, datetime) else until + DAY, zone)
