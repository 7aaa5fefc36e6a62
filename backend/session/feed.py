"""What a session tells the page: numbered events in a bounded ring, for any number of readers.

Publishing never waits and never fails. Each reader keeps only the number of the last event it has seen, so a
slow reader costs nothing; one that falls out of the ring is told how many events it missed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

FEED_LIMIT = 2_000
"""Events kept of one session; an hour's call makes a few thousand, and a reader is seldom seconds behind."""


@dataclass(frozen=True, slots=True)
class PageEvent:
    """One event: `id` counts from 1, `at` is Unix time in seconds."""

    id: int
    type: str
    at: float
    data: dict[str, Any]


class Feed:
    """One session's events."""

    def __init__(self, limit: int = FEED_LIMIT, on_event: Callable[[PageEvent], None] | None = None) -> None:
        """`on_event` is told of every event, at once, and must not wait."""
        self._on_event = on_event
        self._events: deque[PageEvent] = deque(maxlen=limit)
        self._last_id = 0
        self._closed = False
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"Feed({len(self._events)} events, last {self._last_id}{', closed' if self._closed else ''})"

    def publish(self, type_: str, data: dict[str, Any]) -> None:
        """Add an event and wake the readers. After `close` it is dropped."""
        if self._closed:
            return
        self.put(PageEvent(self._last_id + 1, type_, time.time(), data))

    def put(self, event: PageEvent) -> None:
        """Add an event that has its number already, a higher one than all before. After `close` it is dropped."""
        if self._closed or event.id <= self._last_id:
            return
        self._last_id = event.id
        self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
        self._wake()

    def close(self) -> None:
        """No more events: readers end once they have read what there is."""
        self._closed = True
        self._wake()

    async def read(self, after: int = 0) -> AsyncGenerator[PageEvent, None]:
        """Events numbered above `after`, then new ones as they come; ends when the feed is closed.

        A number from the future (another life of this session) reads from the start.
        """
        seen = after if after <= self._last_id else 0
        while True:
            news = self._news
            for event in self._after(seen):
                if event.id > seen + 1:
                    yield PageEvent(event.id - 1, "gap", event.at, {"missed": event.id - 1 - seen})
                seen = event.id
                yield event
            if seen < self._last_id:
                continue
            if self._closed:
                return
            await news.wait()

    def _after(self, seen: int) -> list[PageEvent]:
        return list(takewhile(lambda event: event.id > seen, reversed(self._events)))[::-1]

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
