"""Marks show how much of the sent audio the caller has heard, if the other side buffers and acknowledges it. Pure.

Theory. Frames leave here every 20 ms, but a telephone provider plays them from a buffer of its own, some time later. It
plays *marks*, too: a mark is named, sent behind a frame, and comes back once everything before it was played. The time
from sending a mark to its return is the delay of that buffer and the way there and back; what was sent within the last
delay has not been heard. While the oldest mark that is still out takes longer than that, the delay has grown.

Truncation counts from it: what was not heard is taken off what was played, and kept, so that it can be sent again where
a reply that was cut goes on.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

EVERY = 5
"""Frames between two marks: 100 ms."""
DELAY_S = 0.15
"""The assumed seconds of delay before the first mark has come back."""
LONGEST_S = 5.0
"""Seconds of delay that are believed: after that the provider does not acknowledge marks."""
KEPT = int(LONGEST_S / 0.02)
"""Frames that are remembered."""


class SentFrame(NamedTuple):
    """One frame that was sent: when, of which item, and its coded audio."""

    at: float
    item: str
    payload: bytes


class MarkedPlayback:
    """The frames of one call on their way to the caller's ear. `now` is any steady clock in seconds."""

    def __init__(self) -> None:
        self.delay_s = DELAY_S
        """Seconds from sending a frame to its being heard, as last measured."""
        self._frames: deque[SentFrame] = deque(maxlen=KEPT)
        self._pending: deque[tuple[str, float]] = deque(maxlen=KEPT)  # marks that have not come back
        self._unmarked = 0
        self._number = 0

    def sent(self, item: str, payload: bytes, now: float) -> str | None:
        """Note a frame that was sent; return the name of the mark to send behind it, if one is due."""
        self._frames.append(SentFrame(now, item, payload))
        self._unmarked += 1
        return self._mark(now) if self._unmarked >= EVERY else None

    def paused(self, now: float) -> str | None:
        """Note that nothing more is sent for now; return the mark that ends what was sent, if it has none."""
        return self._mark(now) if self._unmarked else None

    def came_back(self, name: str, now: float) -> None:
        """Note that a mark was played. Marks of before a `clear`, and unknown ones, say nothing."""
        if not any(pending == name for pending, _ in self._pending):
            return
        while self._pending:
            pending, sent_at = self._pending.popleft()
            if pending == name:
                self.delay_s = min(LONGEST_S, max(0.0, now - sent_at))
                return

    def unheard(self, now: float) -> list[SentFrame]:
        """Return the frames that were sent and not heard yet, oldest first."""
        delay = self.delay_s
        if self._pending and (age := now - self._pending[0][1]) < LONGEST_S:
            delay = max(delay, age)
        return [frame for frame in self._frames if frame.at > now - delay]

    def clear(self, now: float) -> list[SentFrame]:
        """Note that the other side drops its frames; return those that were not heard."""
        unheard = self.unheard(now)
        self._frames.clear()
        self._pending.clear()
        self._unmarked = 0
        return unheard

    def _mark(self, now: float) -> str:
        self._unmarked = 0
        self._number += 1
        name = f"m{self._number}"
        self._pending.append((name, now))
        return name
