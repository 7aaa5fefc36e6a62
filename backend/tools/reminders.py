"""This tool sets, lists and cancels reminders."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from backend.access.principal import ToolScope
from backend.errors import BadRequest
from backend.language.moments import as_said
from backend.notifications.reminders import ReminderJson
from backend.notifications.service import ReminderService
from backend.tools.base import Result, ToolContext, listed, tool
from backend.tools.own_profile import Zone

LISTED = 8
"""The most reminders in a list; more would be tedious to hear."""


@tool(
    "reminders",
    "Reminders and alarms that reach the user at a given time: create one, list them, or cancel one. Create takes text "
    "and at; cancel takes reminder_id, or text that only one of them holds.",
    scope=ToolScope.SIGNED_IN,
    writes=("create", "cancel"),
    cache=False,
    guidance="Reminders: for 'remind me …' with a time, create one; the calendar is for events that take place. Send "
    "relative times as they were said ('in ten minutes'), and others as ISO 8601 on the user's clock, without an "
    "offset. The text is what to remind of, in the user's words: 'take the bread out'. Say when it will be.",
)
async def reminders(
    context: ToolContext,
    store: ReminderService | None,
    action: Literal["create", "list", "cancel"],
    text: Annotated[str, Field(max_length=2_000, description="create: what to remind of; cancel: words of it.")] = "",
    at: Annotated[
        str,
        Field(
            max_length=100,
            description="e.g. 'in ten minutes', 'tomorrow at nine', 'every Monday at nine', '2026-11-27T15:00'.",
        ),
    ] = "",
    repeat: Annotated[
        str,
        Field(max_length=200, description="none, daily, weekly, weekdays, monthly, yearly, or an RRULE (RFC 5545)."),
    ] = "none",
    reminder_id: Annotated[str, Field(max_length=64, description="Its id, as listed.")] = "",
    time_zone: Zone = "",
) -> Result:
    """Do the action. Raises `BadRequest` for a wrong time or reminder, `TooMany`, or `MemoryUnavailable`."""
    if store is None:
        raise BadRequest("Nobody can be reminded here.")
    owner = context.user_id
    if action == "list":
        found = await store.all_of(owner)
        said = listed([f"{each['text']}, {_when(each)}" for each in found])
        data = {"reminders": found[:LISTED], "more": max(0, len(found) - LISTED)}
        return Result(data, spoken=f"You have these reminders: {said}." if found else "You have no reminders.")
    if action == "create":
        if not text.strip() or not at.strip():
            raise BadRequest("What to remind of, or when, is missing.", hint="Ask the user for it.")
        made = await store.set(owner, text, at, repeat, time_zone)
        coming = at if at.lower().startswith("in ") else _when(made)
        return Result({"set": made}, spoken=f"I will remind you {coming}: {made['text']}.")
    chosen = reminder_id or _only_one(await store.all_of(owner), text)
    canceled = await store.cancel(owner, chosen)
    if canceled is None:
        raise BadRequest("The user has no such reminder.", hint="List them first.")
    spoken = f"I will not remind you of this any more: {canceled['text']}."
    return Result({"canceled": canceled}, spoken=spoken)


def _when(reminder: ReminderJson) -> str:
    """Return a reminder's time in spoken words; without the user's time zone, the time until then."""
    if not reminder.get("when") or not reminder["at"]:
        minutes = max(0, reminder.get("in_s", 0)) // 60
        return f"in {minutes} minutes" if minutes > 1 else "in a minute"
    again = "" if reminder["repeat"] == "none" else ", and again after that"
    return f"on {as_said(datetime.fromisoformat(reminder['at']), None)}{again}"


def _only_one(reminders: Sequence[ReminderJson], text: str) -> str:
    """Return the id of the one reminder with these words; without words, of the only one. Raises `BadRequest`."""
    words = set(re.findall(r"\w+", text.lower()))
    fitting = [each for each in reminders if words <= set(re.findall(r"\w+", each["text"].lower()))]
    if not fitting:
        raise BadRequest("The user has no such reminder.", hint="List them first.")
    if len(fitting) > 1:
        raise BadRequest("Several reminders fit.", hint="List them, and ask the user which one is meant.")
    return fitting[0]["id"]
