"""The reminder scheduler: it has reminders delivered when they are due.

It sleeps until the next one, and looks every second besides, since other processes set reminders, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable

from backend.errors import MemoryUnavailable, VoiceError
from backend.notifications.delivery import Outcome, ReminderDelivery
from backend.notifications.repository import ReminderKey, ReminderRepository, UnreadableReminder
from backend.runtime.supervisor import supervised

log = logging.getLogger(__name__)

LONGEST_SLEEP_S = 1.0
SHORTEST_SLEEP_S = 0.05
"""Seconds between two looks at least: what is due and not begun waits for another process, or for room here."""
AT_ONCE = 32
"""Reminders one process delivers at the same time."""
REST_S = 0.5
"""Seconds a reminder is left alone that another process has, or that could not be begun."""
UNREADABLE_REST_S = 60.0
"""Seconds a reminder is left alone that cannot be decoded here: a newer version, which can, may share this Redis."""
EXECUTE_LIMIT = 200
"""Reminders one `execute` delivers."""


class ReminderScheduler:
    """The scheduler of one process. `start` it where reminders are delivered on time; `close` it in any case."""

    def __init__(
        self, reminders: ReminderRepository, delivery: ReminderDelivery, clock: Callable[[], float] = time.time
    ) -> None:
        self._reminders = reminders
        self._delivery = delivery
        self._clock = clock
        self._working: dict[ReminderKey, asyncio.Task[Outcome]] = {}
        self._resting: dict[ReminderKey, float] = {}
        self._changed = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"ReminderScheduler({len(self._working)} being delivered)"

    def start(self) -> None:
        """Deliver what is due from now on, until `close`."""
        self._running = supervised("reminders", self._run)

    def wake(self) -> None:
        """Look now: a reminder was set or changed."""
        self._changed.set()

    async def execute(self, owner: str | None = None) -> dict[str, int]:
        """Deliver what is due now, of `owner` or of everybody. Return how many came to each outcome.

        Raises `MemoryUnavailable`.
        """
        ready, _ = await self._reminders.due(self._clock(), EXECUTE_LIMIT)
        tasks = [self._begin(key) for key in ready if owner is None or key[0] == owner]
        if tasks:
            await asyncio.wait(tasks)
        outcomes = Counter(task.result() for task in tasks if not task.cancelled() and task.exception() is None)
        shown: tuple[Outcome, ...] = ("call", "page", "webhook", "waiting", "elsewhere")
        failed = len(tasks) - outcomes.total()
        return {"due": len(tasks) - outcomes["nothing"], **{name: outcomes[name] for name in shown}, "failed": failed}

    async def close(self) -> None:
        """Stop, and leave what is being delivered to another process."""
        tasks = [*self._working.values(), *([self._running] if self._running else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            sleep_s = LONGEST_SLEEP_S
            with contextlib.suppress(MemoryUnavailable):
                sleep_s = await self._begin_due()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(sleep_s):
                    await self._changed.wait()

    async def _begin_due(self) -> float:
        """Begin to deliver what is due. Return the seconds until the next look."""
        now = self._clock()
        self._resting = {key: until for key, until in self._resting.items() if until > now}
        ready, later = await self._reminders.due(now, 2 * AT_ONCE + len(self._resting))
        for key in ready:
            if len(self._working) < AT_ONCE and key not in self._resting:
                self._begin(key)
        sleep_s = SHORTEST_SLEEP_S if ready else LONGEST_SLEEP_S
        return min(sleep_s, max(0.0, later - self._clock())) if later is not None else sleep_s

    def _begin(self, key: ReminderKey) -> asyncio.Task[Outcome]:
        if key not in self._working:
            task = asyncio.create_task(self._delivery.deliver(*key), name="a reminder")
            task.add_done_callback(lambda done: self._end(key, done))
            self._working[key] = task
        return self._working[key]

    def _end(self, key: ReminderKey, task: asyncio.Task[Outcome]) -> None:
        del self._working[key]
        error = None if task.cancelled() else task.exception()
        if isinstance(error, UnreadableReminder):  # counted and logged where it was decoded
            self._resting[key] = self._clock() + UNREADABLE_REST_S
            return
        if error is not None or task.cancelled() or task.result() == "elsewhere":
            self._resting[key] = self._clock() + REST_S
        if isinstance(error, VoiceError):
            log.warning("a reminder could not be delivered, and is tried again: %s", type(error).__name__)
        elif error is not None:
            log.error("a reminder's delivery has a fault: %s", type(error).__name__, exc_info=error)
