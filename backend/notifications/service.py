"""The reminder service is what users, routes and tools use of reminders."""

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from backend.errors import BadRequest
from backend.notifications.delivery import ReminderDelivery
from backend.notifications.reminders import Reminder, ReminderJson
from backend.notifications.repository import ReminderRepository
from backend.notifications.schedule import planned, zone_named
from backend.storage.keys import readable
from backend.storage.memory import Memory, briefly
from backend.users.lists import one_line
from backend.users.profile import UserProfile, load_profile

TEXT_CHARS = 500
"""Characters of one reminder."""
MEMORY_WITHIN_S = 0.5
"""Seconds to wait for the user's time zone."""
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ReminderService:
    """Sets, lists, cancels, exports and erases the reminders of users."""

    reminders: ReminderRepository
    delivery: ReminderDelivery
    memory: Memory
    clock: Callable[[], float] = time.time

    async def set(
        self,
        owner: str,
        text: str,
        at: str,
        repeat: str = "",
        time_zone: str = "",
        reminder_id: str = "",
        *,
        interruptible: bool = True,
    ) -> ReminderJson:
        """Keep a new reminder, and return it as JSON data. With a known id, nothing new is kept.

        Raises `BadRequest`, `TooMany`, `MemoryUnavailable`.
        """
        zone = await self.zone_of(owner, time_zone)
        now = self.clock()
        first, series = planned(at, repeat, now, zone)
        if reminder_id and not ID.fullmatch(reminder_id):
            raise BadRequest("That id is not valid.", hint="Use at most 64 letters, digits, underscores and dashes.")
        text = self.one_line(text)
        name = zone.key if zone else ""
        reminder_id = reminder_id or secrets.token_urlsafe(9)
        kept = await self.reminders.add(
            Reminder(reminder_id, owner, text, now, first, name, series, interruptible=interruptible)
        )
        self.delivery.wake()
        await self.delivery.report(owner, kept.id, "set")
        return self._shown(kept)

    async def all_of(self, owner: str) -> list[ReminderJson]:
        """Return a user's reminders as JSON data, the next one first, without notes that have no time."""
        return [self._shown(each) for each in await self.reminders.all_of(owner) if each.due or each.at]

    async def cancel(self, owner: str, reminder_id: str) -> ReminderJson | None:
        """Cancel a reminder, even while its notice waits, and return it; None when there is none."""
        await self.delivery.withdraw(owner, reminder_id)
        removed = await self.reminders.remove(owner, reminder_id)
        if removed is None:
            return None
        await self.delivery.withdraw(owner, reminder_id)  # Again: its delivery may have begun in between.
        await self.delivery.report(owner, reminder_id, "canceled")
        return self._shown(removed)

    async def export(self, owner: str) -> list[Any]:
        """Return a user's reminders as JSON data for export; unreadable ones in their stored form."""
        reminders = await self.reminders.all_of(owner)
        shown = [{**reminder.to_json(), "created_at": reminder.created_at} for reminder in reminders]
        return [*shown, *({"unreadable": readable(raw)} for raw in await self.reminders.unreadable_of(owner))]

    async def erase(self, owner: str) -> None:
        """Delete all reminders of that user."""
        await self.reminders.erase(owner)

    def one_line(self, text: str) -> str:
        """Return the text of the reminder on one line. Raises `BadRequest` for an empty or too long text."""
        message = f"The text has 1 to {TEXT_CHARS} characters."
        return one_line(text, TEXT_CHARS, message, "Say in a few words what to remind of.")

    async def zone_of(self, owner: str, named: str = "") -> ZoneInfo | None:
        """Return the named time zone, or the user's own; None if unknown. Raises `BadRequest`."""
        if named:
            return zone_named(named)
        warning = "a reminder is set without its user's time zone"
        known = load_profile(self.memory, owner)
        profile = await briefly(known, UserProfile(), within_s=MEMORY_WITHIN_S, warning=warning)
        return zone_named(profile.preferences.time_zone) if profile.preferences.time_zone else None

    def _shown(self, reminder: Reminder) -> ReminderJson:
        """Return the reminder as JSON data, with its time in words on the user's clock and the seconds until then."""
        at = reminder.due or reminder.at
        here = datetime.fromtimestamp(at, ZoneInfo(reminder.zone)) if reminder.zone else None
        when = f"{here:%A}, {here.day} {here:%B %Y}, {here:%H:%M}" if here else ""
        return {**reminder.to_json(), "when": when, "in_s": round(at - self.clock())}
