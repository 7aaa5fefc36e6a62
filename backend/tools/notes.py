"""The user's notes: things to come back to, which come up by themselves once they are due and the user talks.

`users.notes` stores them; the step `due_notes` brings them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from backend.access.principal import Tier
from backend.errors import BadMoment, BadRequest
from backend.language.dates import parse_when
from backend.language.moments import as_datetime, as_said, read_moment, words, written
from backend.storage.memory import Memory
from backend.tools.base import OURS, Clock, Result, ToolContext, fitting, listed, matches, tool
from backend.tools.fetch import refused
from backend.tools.user_clock import NO_ZONE, When, Zone, zone_for
from backend.users.notes import TEXT_LIMIT, Notes, StoredNote

SPOKEN_OF_S = 1_800.0
"""Seconds for which "it" means the note that was last spoken of."""
LIST_FIRST = "List the notes, and pass the note_id of the one that is meant; ask the user if it is not clear."


@tool(
    "notes",
    "The user's notes, things for them to come back to: create one, with a time from which it is due if they name one; "
    "list them; snooze one until later; resolve one that is done. Without a note_id, snooze and resolve take the note "
    "that was just spoken of.",
    tier=Tier.SIGNED_IN,
    writes=("create", "snooze", "resolve"),
    cache=False,
    clients=OURS | {"copilot"},
    persistent=True,
    also_called=("stickynotes",),
    guidance="Notes: a due note comes up when the user next talks; it is no alarm. Keep the note short and in the "
    "user's words, without the time. Say the day and time as the result gives them. Resolve a note only when the user "
    "says that it is done.",
)
async def notes(
    store: Notes | None,
    memory: Memory,
    clock: Clock,
    context: ToolContext,
    action: Literal["create", "list", "snooze", "resolve"],
    text: Annotated[str, Field(max_length=TEXT_LIMIT, description="For create: what is to be noted.")] = "",
    due: Annotated[When, "For create, if wanted, and for snooze: a day, a time, or both, on the user's clock."] = "",
    note_id: Annotated[str, Field(max_length=64, description="As listed; empty: the one just spoken of.")] = "",
    query: Annotated[str, Field(max_length=100, description="For list: only notes with these words.")] = "",
    resolved: Annotated[bool, "For list: resolved ones, too."] = False,
    time_zone: Zone = "",
) -> Result:
    """Raise `BadRequest` for an action that lacks something, `BadMoment` for a time, or `MemoryUnavailable`."""
    if store is None:
        raise refused("Notes cannot be kept here.")
    user, now = context.user_id, clock.now()
    zone = await zone_for(memory, user, time_zone)
    match action:
        case "create":
            made = await store.add(user, text, _due(due, now, zone) if due else "")
            return _result_of("created", made, zone)
        case "list":
            return _listed(await store.all(user), query, now, zone, resolved=resolved)
        case "snooze":
            if not due:
                raise BadRequest("Until when is missing.", hint="Ask the user.")
            until = _due(due, now, zone)
            note = await store.snooze(user, await _meant(store, user, note_id, now), until)
        case "resolve":
            note = await store.resolve(user, await _meant(store, user, note_id, now))
    if note is None:
        raise BadRequest("The user has no such note.", hint=LIST_FIRST)
    return _result_of("snoozed" if action == "snooze" else "resolved", note, zone)


def shown(note: StoredNote, zone: ZoneInfo | None, now: datetime | None = None) -> dict[str, str | bool]:
    """Return a note as the model sees it, without empty fields; with `now`, also whether it is due."""
    data: dict[str, str | bool] = {"id": note.id, "text": note.text}
    if moment := read_moment(note.due):
        data |= {"due": written(moment, zone), "when": words(moment, zone)}
    if now and note.is_due(now.timestamp(), zone):
        data["is_due"] = True
    if not note.open:
        data["state"] = "resolved"
    return data


def _due(text: str, now: datetime, zone: ZoneInfo | None) -> str:
    moment = parse_when(text, now, zone)
    if isinstance(moment, datetime):
        past = as_datetime(moment) < now.replace(second=0, microsecond=0)
    else:
        past = moment < now.astimezone(zone or UTC).date()
    if past:
        raise BadMoment(f"{words(moment, zone)} is past.", hint="Ask the user for a time to come.")
    return moment.isoformat()


async def _meant(store: Notes, user_id: str, note_id: str, now: datetime) -> str:
    """Return the id of the note that is meant. Raise `BadRequest` when that is not clear."""
    if note_id:
        return note_id
    open_ones = [note for note in await store.all(user_id) if note.open]
    if not open_ones:
        raise BadRequest("The user has no open notes.")
    latest = max(note.touched for note in open_ones)
    just_now = [note for note in open_ones if note.touched == latest and latest > now.timestamp() - SPOKEN_OF_S]
    for candidates in (just_now, open_ones):
        if len(candidates) == 1:
            return candidates[0].id
    raise BadRequest("It is not clear which note is meant.", hint=LIST_FIRST)


def _listed(
    stored: Sequence[StoredNote], query: str, now: datetime, zone: ZoneInfo | None, *, resolved: bool
) -> Result:
    """Return the notes: the soonest due first, then those without a time, the newest first."""
    wanted = [note for note in stored if (resolved or note.open) and matches(note.text, query)]
    wanted.sort(key=lambda note: (note.due_at(zone) or float("inf"), -note.created))
    notes = fitting([shown(note, zone, now) for note in wanted])
    said = listed([_said(note, zone) for note in wanted])
    spoken = f"You have noted: {said}." if wanted else "You have no open notes."
    more = {"more": len(wanted) - len(notes)} if len(notes) < len(wanted) else {}
    return Result({"notes": notes, **more}, spoken=spoken)


def _result_of(done: str, note: StoredNote, zone: ZoneInfo | None) -> Result:
    moment = read_moment(note.due)
    spoken = {
        "created": f"I have noted: {_said(note, zone)}.",
        "snoozed": f"All right, that can wait until {as_said(moment, zone) if moment else 'later'}.",
        "resolved": f"Good, that is off your notes: {note.text}.",
    }
    zone_needed = isinstance(moment, datetime) and note.open and zone is None
    return Result({done: shown(note, zone)}, note=NO_ZONE if zone_needed else "", spoken=spoken[done])


def _said(note: StoredNote, zone: ZoneInfo | None) -> str:
    """Return a note as it is said: its text, and when it is due."""
    moment = read_moment(note.due)
    return f"{note.text}, for {as_said(moment, zone)}" if moment else note.text
