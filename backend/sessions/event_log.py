"""The event log of a session: numbered events for the page in a bounded ring, for any number of readers.

Publishing never waits and never fails. Each reader keeps only the number of the last event it has seen, so a
slow reader costs nothing; one that falls out of the ring learns how many events it missed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from itertools import takewhile

from backend.conversation.page_events import EventsMissed, PageEvent
from backend.runtime.timer import Alarm
from backend.sessions.page_json import LoggedEvent, PageMessage, page_message

LOG_LIMIT = 2_000
"""Events kept of one session; an hour's call makes a few thousand, and a reader is seldom seconds behind."""
AT_ONCE = 100
"""Events a reader gets together."""


class EventLog:
    """The events of one session."""

    def __init__(self, limit: int = LOG_LIMIT, on_event: Callable[[LoggedEvent], None] | None = None) -> None:
        """`on_event` is called with every event, at once, and must not wait."""
        self._on_event = on_event
        self._events: deque[LoggedEvent] = deque(maxlen=limit)
        self._last_id = 0
        self._closed = False
        self._readers: set[_Reader] = set()

    def __repr__(self) -> str:
        return f"EventLog({len(self._events)} events, last {self._last_id}{', closed' if self._closed else ''})"

    def publish(self, event: PageEvent) -> None:
        """Add `event` in its JSON form and wake the readers. After `close` it is dropped."""
        if not self._closed:
            self.append(page_message(event))

    def append(self, message: PageMessage) -> None:
        """Add what is in JSON form already, e.g. from another process. After `close` it is dropped."""
        self.restore(LoggedEvent(self._last_id + 1, message.type, time.time(), message.data))

    def restore(self, event: LoggedEvent) -> None:
        """Add an event that has its number already, a higher one than all before. After `close` it is dropped."""
        if self._closed or event.id <= self._last_id:
            return
        self._last_id = event.id
        self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
        self._wake()

    def close(self) -> None:
        """Take no more events; readers end once they have read what there is."""
        self._closed = True
        self._wake()

    async def follow(self, after: int = 0, quiet_s: float | None = None) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Yield events numbered above `after`, then new ones as they come: all there are together, at most `AT_ONCE`.

        Yields an empty list whenever none came for `quiet_s` seconds. Ends when the log is closed. A number from
        the future (another life of this session) reads from the start.
        """
        seen = after if after <= self._last_id else 0
        reader = _Reader(quiet_s)
        self._readers.add(reader)
        try:
            while True:
                if events := self._after(seen):
                    seen = events[-1].id
                    yield events
                elif self._closed:
                    return
                elif not await reader.wait():
                    yield ()
        finally:
            self._readers.discard(reader)
            reader.alarm.stop()

    async def read(self, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
        """Yield the events of `follow` one by one."""
        async with aclosing(self.follow(after)) as batches:
            async for events in batches:
                for event in events:
                    yield event

    def _after(self, seen: int) -> list[LoggedEvent]:
        """Return the next events, and gaps before them. Most readers are one event behind, so it looks from the end."""
        newer = list(takewhile(lambda event: event.id > seen, reversed(self._events)))
        events: list[LoggedEvent] = []
        for event in newer[: -AT_ONCE - 1 : -1]:
            if event.id > seen + 1:
                gap = page_message(EventsMissed(event.id - 1 - seen))
                events.append(LoggedEvent(event.id - 1, gap.type, event.at, gap.data))
            seen = event.id
            events.append(event)
        return events

    def _wake(self) -> None:
        for reader in self._readers:
            reader.wake()


class _Reader:
    """A reader that waits for events with one timer for all its waits: events are many, and quiet spells few."""

    def __init__(self, quiet_s: float | None) -> None:
        self._quiet_s = quiet_s
        self._quiet_at = 0.0
        self.alarm = Alarm(self._on_timer)
        self._waiting: asyncio.Future[bool] | None = None

    async def wait(self) -> bool:
        """Return True when there are events, False after `quiet_s` seconds without."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        if self._quiet_s is not None:
            self._quiet_at = loop.time() + self._quiet_s
            self.alarm.set(self._quiet_at)
        return await self._waiting

    def wake(self) -> None:
        self._finish_wait(True)

    def _on_timer(self) -> None:
        if asyncio.get_running_loop().time() < self._quiet_at:
            self.alarm.set(self._quiet_at)
        else:
            self._finish_wait(False)

    def _finish_wait(self, found: bool) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(found)
