"""Sees to it that reminders are delivered when they are due: sleeps until the next one, and looks every second besides,
since other processes set reminders, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable

from backend.errors import MemoryUnavailable, VoiceError
from backend.notifications.delivery import Delivery, Outcome
from backend.notifications.repository import Book, Place

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Seconds between two looks, at most."""
SOONEST_S = 0.05
"""And at least: what is due and not begun with waits for another process, or for room here."""
AT_ONCE = 32
"""Reminders one process delivers at the same time."""
REST_S = 0.5
"""Seconds one is left alone that another process has, or that could not be begun with."""
EXECUTED = 200
"""Reminders one `execute` sees to."""


class Runner:
    """`run` it in a task; cancelling that leaves what is being delivered to another process."""

    def __init__(self, book: Book, delivery: Delivery, clock: Callable[[], float] = time.time) -> None:
        self._book = book
        self._delivery = delivery
        self._clock = clock
        self._working: dict[Place, asyncio.Task[Outcome]] = {}
        self._rests: dict[Place, float] = {}
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"Runner({len(self._working)} being delivered)"

    @property
    def working(self) -> int:
        """Reminders this process is delivering now."""
        return len(self._working)

    def wake(self) -> None:
        """Something was set or changed."""
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                self._news.clear()
                wait_s = LOOK_S
                with contextlib.suppress(MemoryUnavailable):
                    wait_s = await self._look()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._news.wait()
        finally:
            await self._stop()

    async def execute(self, owner: str | None = None) -> dict[str, int]:
        """Deliver what is due now, of `owner` or of everybody: how many came to what. Raises `MemoryUnavailable`."""
        ready, _ = await self._book.due(self._clock(), EXECUTED)
        tasks = [self._begun(place) for place in ready if owner is None or place[0] == owner]
        if tasks:
            await asyncio.wait(tasks)
        outcomes = Counter(task.result() for task in tasks if not task.cancelled() and task.exception() is None)
        shown: tuple[Outcome, ...] = ("call", "page", "webhook", "waiting", "elsewhere")
        failed = len(tasks) - outcomes.total()
        return {"due": len(tasks) - outcomes["nothing"], **{name: outcomes[name] for name in shown}, "failed": failed}

    async def _look(self) -> float:
        """Begin with what is due; seconds until the next one."""
        now = self._clock()
        self._rests = {place: until for place, until in self._rests.items() if until > now}
        ready, later = await self._book.due(now, 2 * AT_ONCE)
        for place in ready:
            if len(self._working) < AT_ONCE and place not in self._rests:
                self._begun(place)
        wait_s = SOONEST_S if ready else LOOK_S
        return min(wait_s, max(0.0, later - self._clock())) if later is not None else wait_s

    def _begun(self, place: Place) -> asyncio.Task[Outcome]:
        if place not in self._working:
            task = asyncio.create_task(self._delivery.deliver(*place), name="a reminder")
            task.add_done_callback(lambda done: self._ended(place, done))
            self._working[place] = task
        return self._working[place]

    def _ended(self, place: Place, task: asyncio.Task[Outcome]) -> None:
        del self._working[place]
        error = None if task.cancelled() else task.exception()
        if error is not None or task.cancelled() or task.result() == "elsewhere":
            self._rests[place] = self._clock() + REST_S
        if error is None:
            return
        if isinstance(error, VoiceError):
            log.warning("a reminder could not be delivered, and is tried again: %s", type(error).__name__)
        else:
            log.error("delivering a reminder is broken: %s", type(error).__name__, exc_info=error)

    async def _stop(self) -> None:
        working = list(self._working.values())
        for task in working:
            task.cancel()
        if working:
            await asyncio.wait(working)
