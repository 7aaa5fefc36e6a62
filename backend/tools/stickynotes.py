"""This tool keeps the user's notes: things to come back to, with a reminder if they name a time.

A note is a reminder that stays until it is resolved.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from backend.access.principal import ToolScope
from backend.errors import BadRequest
from backend.language.moments import as_said
from backend.notifications.notes import Notes
from backend.tools.base import OURS, Result, ToolContext, fitting, listed, matches, tool
from backend.tools.fetch import refused
from backend.tools.own_profile import NO_ZONE, When, Zone

TEXT_LIMIT = 500
"""The most characters of one note."""
Note = dict[str, str | bool]
"""A note for the model: `id`, `text`, and, if set, `due` (ISO 8601), `when` (in words), `is_due`, `state`."""


@tool(
    "stickynotes",
    "The user's notes, things for them to come back to: create one, with a time from which it is due if they name one; "
    "list them; snooze one until later; resolve one that is done. Without a note_id, snooze and resolve take the note "
    "that was just spoken of.",
    scope=ToolScope.SIGNED_IN,
    writes=("create", "snooze", "resolve"),
    cache=False,
    clients=OURS | {"copilot"},
    persistent=True,
    guidance="Notes: the user is reminded of a note at its time, and it stays until they say that it is done. Keep the "
    "note short and in the user's words, without the time. Say the day and time as the result gives them. Resolve a "
    "note only when the user says that it is done.",
)
async def stickynotes(
    store: Notes | None,
    context: ToolContext,
    action: Literal["create", "list", "snooze", "resolve"],
    text: Annotated[str, Field(max_length=TEXT_LIMIT, description="For create: what is to be noted.")] = "",
    due: Annotated[When, "For create, if wanted, and for snooze: a day, a time, or both, on the user's clock."] = "",
    note_id: Annotated[str, Field(max_length=64, description="As listed; empty: the one just spoken of.")] = "",
    query: Annotated[str, Field(max_length=100, description="For list: only notes with these words.")] = "",
    resolved: Annotated[bool, "For list: resolved ones, too."] = False,
    time_zone: Zone = "",
) -> Result:
    """Do the action. Raises `BadRequest` for a missing or wrong argument, `TooMany`, or `MemoryUnavailable`."""
    if store is None:
        raise refused("Notes cannot be kept here.")
    user = context.user_id
    match action:
        case "create":
            note = await store.create(user, text, due, time_zone)
            return _result("created", note, f"I have noted: {_said(note)}.")
        case "list":
            kept = [note for note in await store.all_of(user) if resolved or "state" not in note]
            return _listed([note for note in kept if matches(str(note["text"]), query)])
        case "snooze":
            if not due:
                raise BadRequest("Until when is missing.", hint="Ask the user.")
            note = await store.snooze(user, note_id, due, time_zone)
            return _result("snoozed", note, f"All right, that can wait until {_time(note)}.")
        case "resolve":
            note = await store.resolve(user, note_id)
            return _result("resolved", note, f"Good, that is off your notes: {note['text']}.")


def _listed(wanted: list[Note]) -> Result:
    shown = fitting(wanted)
    said = listed([_said(note) for note in wanted])
    spoken = f"You have noted: {said}." if wanted else "You have no open notes."
    more = {"more": len(wanted) - len(shown)} if len(shown) < len(wanted) else {}
    return Result({"notes": shown, **more}, spoken=spoken)


def _result(done: str, note: Note, spoken: str) -> Result:
    floating = "due" in note and datetime.fromisoformat(str(note["due"])).tzinfo is None
    return Result({done: note}, note=NO_ZONE if floating else "", spoken=spoken)


def _said(note: Note) -> str:
    """Return a note in spoken words: its text, and its time."""
    return f"{note['text']}, for {_time(note)}" if "due" in note else str(note["text"])


def _time(note: Mapping[str, str | bool]) -> str:
    return as_said(datetime.fromisoformat(str(note["due"])), None)
