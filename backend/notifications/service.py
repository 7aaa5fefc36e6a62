"""Reminders as users, routes and the conversation deal with them: set, listed, canceled, delivered."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from backend.errors import BadRequest, MemoryUnavailable
from backend.notifications.delivery import ReminderDelivery
from backend.notifications.reminders import Reminder, ReminderJson
from backend.notifications.repository import ReminderRepository
from backend.notifications.schedule import planned, zone_named
from backend.notifications.scheduler import ReminderScheduler
from backend.settings.notifications import NotificationSettings
from backend.storage.memory import Memory
from backend.users.profile import load_profile

log = logging.getLogger(__name__)

MEMORY_WITHIN_S = 0.5
"""Seconds to wait for the user's time zone."""
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ReminderService:
    """The reminders of all users, as one process serves them."""

    def __init__(
        self,
        settings: NotificationSettings,
        reminders: ReminderRepository,
        delivery: ReminderDelivery,
        scheduler: ReminderScheduler,
        memory: Memory,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """The caller keeps ownership of everything."""
        self._settings = settings
        self._reminders = reminders
        self._delivery = delivery
        self._scheduler = scheduler
        self._memory = memory
        self._clock = clock

    def __repr__(self) -> str:
        return f"ReminderService({self._reminders!r}, {self._scheduler!r})"

    async def set(
        self, owner: str, text: str, at: str, repeat: str = "", time_zone: str = "", reminder_id: str = ""
    ) -> ReminderJson:
        """Keep a new reminder and return it as JSON data; with an id that is known already, nothing new is kept.

        Raises `BadRequest`, `TooMany`, `MemoryUnavailable`.
        """
        zone = zone_named(time_zone) if time_zone else await self._zone_of(owner)
        now = self._clock()
        first, series = planned(at, repeat, now, zone)
        if reminder_id and not ID.fullmatch(reminder_id):
            raise BadRequest("That id is not valid.", hint="Use at most 64 letters, digits, underscores and dashes.")
        name = zone.key if zone else ""
        reminder_id = reminder_id or secrets.token_urlsafe(9)
        kept = await self._reminders.add(Reminder(reminder_id, owner, self._text(text), now, first, name, series))
        self._scheduler.wake()
        await self._delivery.report(owner, kept.id, "set")
        return self._shown(kept)

    async def all_of(self, owner: str) -> list[ReminderJson]:
        """Return all of a user's as JSON data, the next one first. Raises `MemoryUnavailable`."""
        return [self._shown(reminder) for reminder in await self._reminders.all_of(owner)]

    async def cancel(self, owner: str, reminder_id: str) -> ReminderJson | None:
        """Cancel one, also while its notice waits to be spoken. Return what it was; None when there is no such one."""
        await self._delivery.withdraw(owner, reminder_id)
        removed = await self._reminders.remove(owner, reminder_id)
        if removed is None:
            return None
        await self._delivery.withdraw(owner, reminder_id)  # again: its delivery may have begun in between
        await self._delivery.report(owner, reminder_id, "canceled")
        return self._shown(removed)

    async def execute(self, owner: str | None = None) -> dict[str, int]:
        """Deliver what is due now, of `owner` or of everybody. Return how many came to each outcome."""
        return await self._scheduler.execute(owner)

    async def export(self, owner: str) -> list[ReminderJson]:
        """Return a user's reminders as JSON data, for the user to take away."""
        reminders = await self._reminders.all_of(owner)
        return [{**reminder.to_json(), "created_at": reminder.created_at} for reminder in reminders]

    async def erase(self, owner: str) -> None:
        """Delete everything of that user."""
        await self._reminders.erase(owner)

    async def _zone_of(self, owner: str) -> ZoneInfo | None:
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                profile = await load_profile(self._memory, owner)
        except (MemoryUnavailable, TimeoutError):
            log.warning("a reminder is set without its user's time zone: memory does not answer")
            return None
        return zone_named(profile.preferences.time_zone) if profile.preferences.time_zone else None

    def _text(self, text: str) -> str:
        text = " ".join(text.split())
        if not text:
            raise BadRequest("The text is empty.", hint="Say in a few words what to remind of.")
        if len(text) > self._settings.text_chars:
            raise BadRequest("The text is too long.", hint=f"At most {self._settings.text_chars} characters.")
        return text

    def _shown(self, reminder: Reminder) -> ReminderJson:
        """Return it as JSON data, with its time in words on the user's clock and the seconds until then."""
        at = reminder.due or reminder.at
        here = datetime.fromtimestamp(at, ZoneInfo(reminder.zone)) if reminder.zone else None
        when = f"{here:%A}, {here.day} {here:%B %Y}, {here:%H:%M}" if here else ""
        return {**reminder.to_json(), "when": when, "in_s": round(at - self._clock())}
