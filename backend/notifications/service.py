"""Reminders as users, routes and the conversation deal with them: set, listed, called off, delivered."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from backend.errors import BadRequest, MemoryUnavailable
from backend.notifications.delivery import Delivery, Hook, Show, Tellings
from backend.notifications.metrics import ReminderFigures
from backend.notifications.reminders import Reminder, Way
from backend.notifications.repository import Book, exported
from backend.notifications.schedule import planned, zone_named
from backend.notifications.scheduler import Runner
from backend.settings.notifications import NotificationSettings
from backend.storage.memory import Memory

log = logging.getLogger(__name__)

MEMORY_WITHIN_S = 0.5
"""How long to wait for the user's time zone."""
DAY_S = 86_400
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Reminding:
    """A process's reminders. What is set before `delivering` is delivered by whoever delivers."""

    def __init__(
        self, settings: NotificationSettings, redis: Redis, memory: Memory, clock: Callable[[], float] = time.time
    ) -> None:
        """The caller keeps ownership of everything."""
        self._settings = settings
        self._book = Book(redis, per_user=settings.per_user, lease_s=settings.lease_s)
        self._memory = memory
        self._clock = clock
        self._figures = ReminderFigures()
        self._delivery: Delivery | None = None
        self._runner: Runner | None = None

    def __repr__(self) -> str:
        return f"Reminding({self._book!r}, {self._runner!r})"

    async def set(
        self, owner: str, text: str, at: str, repeat: str = "", time_zone: str = "", reminder_id: str = ""
    ) -> dict[str, Any]:
        """Keep a new one; with an id that is known already, nothing new. Shows it.

        Raises `BadRequest`, `TooMany`, `MemoryUnavailable`.
        """
        zone = zone_named(time_zone) if time_zone else await self._zone_of(owner)
        now = self._clock()
        first, series = planned(at, repeat, now, zone)
        if reminder_id and not ID.fullmatch(reminder_id):
            raise BadRequest("That is no id.", hint="At most 64 letters, digits, underscores and dashes.")
        name = zone.key if zone else ""
        reminder_id = reminder_id or secrets.token_urlsafe(9)
        kept = await self._book.put(Reminder(reminder_id, owner, self._text(text), now, first, name, series))
        self._figures.was_set()
        if self._runner:
            self._runner.wake()
        await self._tell(owner, kept.id, "set")
        return self._shown(kept)

    async def all_of(self, owner: str) -> list[dict[str, Any]]:
        """All of a user's, the next one first. Raises `MemoryUnavailable`."""
        return [self._shown(reminder) for reminder in await self._book.of(owner)]

    async def cancel(self, owner: str, reminder_id: str) -> dict[str, Any] | None:
        """Call it off, also what is told of it already but not heard. None: there is no such one."""
        if self._delivery:
            await self._delivery.call_off(owner, reminder_id)
        removed = await self._book.remove(owner, reminder_id)
        if removed is None:
            return None
        if self._delivery:
            await self._delivery.call_off(owner, reminder_id)  # again: its delivery may have begun in between
        self._figures.canceled()
        await self._tell(owner, reminder_id, "canceled")
        return self._shown(removed)

    async def execute(self, owner: str | None = None) -> dict[str, int]:
        """Deliver what is due now, of `owner` or of everybody; says how many came to what."""
        if self._runner is None:
            raise BadRequest("This process delivers nothing.")
        return await self._runner.execute(owner)

    def told(self, owner: str, notice_id: str, way: Way) -> None:
        """A notice was told; one of a reminder is seen to. Returns at once."""
        if self._delivery:
            self._delivery.told(owner, notice_id, way)

    async def export(self, owner: str) -> list[dict[str, Any]]:
        """For the user to take away."""
        return exported(await self._book.of(owner))

    async def erase(self, owner: str) -> None:
        """Leaves nothing of that user's."""
        await self._book.erase(owner)

    @asynccontextmanager
    async def delivering(
        self,
        tellings: Tellings,
        *,
        show: Show,
        on_page: Callable[[str], Awaitable[bool]],
        hook: Hook | None,
        registry: CollectorRegistry,
    ) -> AsyncIterator[None]:
        """Deliver what is due, until the block is left. The caller keeps ownership of everything passed in."""
        self._figures.show_in(registry)
        self._show = show
        self._delivery = delivery = Delivery(
            self._book,
            tellings,
            show=show,
            on_page=on_page,
            hook=hook,
            figures=self._figures,
            keep_s=self._settings.keep_days * DAY_S,
            lease_s=self._settings.lease_s,
            clock=self._clock,
        )
        self._runner = runner = Runner(self._book, delivery, self._clock)
        on_time = self._settings.deliver == "on_time"
        running = asyncio.create_task(runner.run(), name="reminders") if on_time else None
        try:
            yield
        finally:
            if running:
                running.cancel()
                await asyncio.wait([running])
            await delivery.close()

    async def _zone_of(self, owner: str) -> ZoneInfo | None:
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                known = await self._memory.user_context(owner)
        except (MemoryUnavailable, TimeoutError):
            log.warning("a reminder is set without its user's time zone: memory does not answer")
            return None
        preferences = known.get("preferences")
        name = preferences.get("time_zone") if isinstance(preferences, dict) else None
        return zone_named(str(name)) if name else None

    def _text(self, text: str) -> str:
        text = " ".join(text.split())
        if not text:
            raise BadRequest("It says nothing.", hint="Say in a few words what to remind of.")
        if len(text) > self._settings.text_chars:
            raise BadRequest("The text is too long.", hint=f"At most {self._settings.text_chars} characters.")
        return text

    def _shown(self, reminder: Reminder) -> dict[str, Any]:
        """With what one says of its time: a day and an hour on the user's clock, and the seconds until then."""
        at = reminder.due or reminder.at
        here = datetime.fromtimestamp(at, ZoneInfo(reminder.zone)) if reminder.zone else None
        when = f"{here:%A}, {here.day} {here:%B %Y}, {here:%H:%M}" if here else ""
        return reminder.shown() | {"when": when, "in_s": round(at - self._clock())}

    async def _tell(self, owner: str, reminder_id: str, event: str) -> None:
        """The user's open pages: something is different."""
        if self._delivery:
            await self._show(owner, "reminder", {"id": reminder_id, "event": event})
