"""Reminders as users, routes and tools use them, and the scheduler that has them delivered when they are due.

The scheduler sleeps until the next one, and looks every second besides, since other processes set reminders, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from backend.errors import BadRequest, MemoryUnavailable, VoiceError
from backend.notifications.delivery import Outcome, ReminderDelivery
from backend.notifications.reminders import Reminder, ReminderJson
from backend.notifications.repository import ReminderKey, ReminderRepository, UnreadableReminder
from backend.notifications.schedule import planned, zone_named
from backend.runtime.supervisor import cancel_all, event_or_timeout, supervised
from backend.settings.notifications import NotificationSettings
from backend.storage.keys import readable
from backend.storage.memory import Memory, briefly
from backend.users.profile import UserProfile, load_profile

log = logging.getLogger(__name__)

LONGEST_SLEEP_S = 1.0
SHORTEST_SLEEP_S = 0.05
"""The least seconds between two looks: a due reminder that is not begun waits for another process, or for room here."""
AT_ONCE = 32
"""Reminders one process delivers at the same time."""
REST_S = 0.5
"""Seconds for which a reminder is left alone that another process has, or that could not be begun."""
UNREADABLE_REST_S = 60.0
"""Seconds a reminder is left alone that cannot be decoded here: a newer version, which can, may share this Redis."""
EXECUTE_LIMIT = 200
"""Reminders one `execute` delivers."""
MEMORY_WITHIN_S = 0.5
"""Seconds to wait for the user's time zone."""
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(eq=False, repr=False)
class ReminderScheduler:
    """The scheduler of one process. `start` it where reminders are delivered on time; `close` it in any case."""

    reminders: ReminderRepository
    delivery: ReminderDelivery
    clock: Callable[[], float] = time.time
    _working: dict[ReminderKey, asyncio.Task[Outcome]] = field(default_factory=dict, init=False)
    _resting: dict[ReminderKey, float] = field(default_factory=dict, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _running: asyncio.Task[None] | None = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"ReminderScheduler({len(self._working)} being delivered)"

    def start(self) -> None:
        """Deliver what is due from now on, until `close`."""
        self._running = supervised("reminders", self._run)

    def wake(self) -> None:
        """Look for due reminders now, since one was set or changed."""
        self._changed.set()

    async def execute(self, owner: str | None = None) -> dict[str, int]:
        """Deliver the due reminders of `owner` or all users, and count the outcomes. Raises `MemoryUnavailable`."""
        ready, _ = await self.reminders.due(self.clock(), EXECUTE_LIMIT)
        tasks = [self._begin(key) for key in ready if owner is None or key[0] == owner]
        if tasks:
            await asyncio.wait(tasks)
        outcomes = Counter(task.result() for task in tasks if not task.cancelled() and task.exception() is None)
        shown: tuple[Outcome, ...] = ("call", "page", "webhook", "waiting", "elsewhere")
        failed = len(tasks) - outcomes.total()
        return {"due": len(tasks) - outcomes["nothing"], **{name: outcomes[name] for name in shown}, "failed": failed}

    async def close(self) -> None:
        """Stop, and leave the deliveries under way to another process."""
        await cancel_all([*self._working.values(), *([self._running] if self._running else [])])

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            sleep_s = LONGEST_SLEEP_S
            with contextlib.suppress(MemoryUnavailable):
                sleep_s = await self._begin_due()
            await event_or_timeout(self._changed, sleep_s)

    async def _begin_due(self) -> float:
        """Begin to deliver what is due. Return the seconds until the next look."""
        now = self.clock()
        self._resting = {key: until for key, until in self._resting.items() if until > now}
        ready, later = await self.reminders.due(now, 2 * AT_ONCE + len(self._resting))
        for key in ready:
            if len(self._working) < AT_ONCE and key not in self._resting:
                self._begin(key)
        sleep_s = SHORTEST_SLEEP_S if ready else LONGEST_SLEEP_S
        return min(sleep_s, max(0.0, later - self.clock())) if later is not None else sleep_s

    def _begin(self, key: ReminderKey) -> asyncio.Task[Outcome]:
        if key not in self._working:
            task = asyncio.create_task(self.delivery.deliver(*key), name="a reminder")
            task.add_done_callback(lambda done: self._end(key, done))
            self._working[key] = task
        return self._working[key]

    def _end(self, key: ReminderKey, task: asyncio.Task[Outcome]) -> None:
        del self._working[key]
        error = None if task.cancelled() else task.exception()
        if isinstance(error, UnreadableReminder):  # counted and logged where it was decoded
            self._resting[key] = self.clock() + UNREADABLE_REST_S
            return
        if error is not None or task.cancelled() or task.result() == "elsewhere":
            self._resting[key] = self.clock() + REST_S
        if isinstance(error, VoiceError):
            log.warning("a reminder could not be delivered, and is tried again: %s", type(error).__name__)
        elif error is not None:
            log.error("a reminder's delivery has a fault: %s", type(error).__name__, exc_info=error)


@dataclass(frozen=True, slots=True)
class ReminderService:
    """The reminders of all users, as one process serves them."""

    settings: NotificationSettings
    reminders: ReminderRepository
    delivery: ReminderDelivery
    scheduler: ReminderScheduler
    memory: Memory
    clock: Callable[[], float] = time.time

    def start(self) -> None:
        """Deliver due reminders from now on, unless that is done only on request. Start it last: other work at start-up
        keeps Redis's first replies waiting, and they would seem late.
        """
        if self.settings.deliver == "on_time":
            self.scheduler.start()

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
        """Keep a new reminder and return it as JSON data; with an id that is known already, nothing new is kept.

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
        self.scheduler.wake()
        await self.delivery.report(owner, kept.id, "set")
        return self._shown(kept)

    async def all_of(self, owner: str) -> list[ReminderJson]:
        """Return a user's reminders as JSON data, the next one first, without notes that have no time."""
        return [self._shown(each) for each in await self.reminders.all_of(owner) if each.due or each.at]

    async def cancel(self, owner: str, reminder_id: str) -> ReminderJson | None:
        """Cancel a reminder, also while its notice waits to be spoken; return what it was, None when there is none."""
        await self.delivery.withdraw(owner, reminder_id)
        removed = await self.reminders.remove(owner, reminder_id)
        if removed is None:
            return None
        await self.delivery.withdraw(owner, reminder_id)  # again: its delivery may have begun in between
        await self.delivery.report(owner, reminder_id, "canceled")
        return self._shown(removed)

    async def export(self, owner: str) -> list[Any]:
        """Return a user's reminders as JSON data for export; unreadable ones come as they are stored."""
        reminders = await self.reminders.all_of(owner)
        shown = [{**reminder.to_json(), "created_at": reminder.created_at} for reminder in reminders]
        return [*shown, *({"unreadable": readable(raw)} for raw in await self.reminders.unreadable_of(owner))]

    async def erase(self, owner: str) -> None:
        """Delete all reminders of that user."""
        await self.reminders.erase(owner)

    def one_line(self, text: str) -> str:
        """Return the text of the reminder, on one line. Raises `BadRequest` for nothing, or too much."""
        line = " ".join(text.split())
        if not line:
            raise BadRequest("The text is empty.", hint="Say in a few words what to remind of.")
        if len(line) > self.settings.text_chars:
            raise BadRequest("The text is too long.", hint=f"At most {self.settings.text_chars} characters.")
        return line

    async def zone_of(self, owner: str, named: str = "") -> ZoneInfo | None:
        """Return the named time zone, else the user's own, or None if unknown. Raises `BadRequest`."""
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
