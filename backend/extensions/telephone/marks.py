"""Marks measure how much of the sent audio the caller has heard, if the other side buffers and acknowledges it. Pure.

Theory. A frame is sent every 20 ms, but a telephone provider plays it later, from its own buffer. A *mark* has a name,
is sent after a frame, and comes back once everything before it was played. The time from its sending to its return is
the delay of the buffer and of the network, both ways. Frames that were sent within the last delay count as not heard.
If the oldest pending mark takes longer than the measured delay, the delay has grown.

Truncation uses this: unheard frames are subtracted from the played time, and kept, so that they can be sent again if
the reply is restored.
"""

from collections import deque
from typing import NamedTuple

EVERY = 5
"""Frames between two marks: 100 ms."""
DELAY_S = 0.15
"""The delay that is assumed until the first mark has come back, in seconds."""
LONGEST_S = 5.0
"""The longest plausible delay, in seconds; a later mark means that the provider does not acknowledge marks."""
KEPT = int(LONGEST_S / 0.02)
"""The most frames that are remembered."""


class SentFrame(NamedTuple):
    """One frame that was sent: its time, its item and its coded audio."""

    at: float
    item: str
    payload: bytes


class MarkedPlayback:
    """The frames of one call that may not be heard yet. `now` is any steady clock in seconds."""

    def __init__(self) -> None:
        self.delay_s = DELAY_S
        """Seconds from the sending of a frame until it is heard, as last measured."""
        self._frames: deque[SentFrame] = deque(maxlen=KEPT)
        self._pending: deque[tuple[str, float]] = deque(maxlen=KEPT)  # marks that have not come back
        self._unmarked = 0
        self._number = 0

    def sent(self, item: str, payload: bytes, now: float) -> str | None:
        """Note a frame that was sent; return the name of the mark to send after it, if one is due."""
        self._frames.append(SentFrame(now, item, payload))
        self._unmarked += 1
        return self._mark(now) if self._unmarked >= EVERY else None

    def paused(self, now: float) -> str | None:
        """Note a pause in sending; return the name of a mark to send, if frames were sent since the last one."""
        return self._mark(now) if self._unmarked else None

    def came_back(self, name: str, now: float) -> None:
        """Note that a mark was played. Unknown marks and marks from before a `clear` are ignored."""
        if not any(pending == name for pending, _ in self._pending):
            return
        while self._pending:
            pending, sent_at = self._pending.popleft()
            if pending == name:
                self.delay_s = min(LONGEST_S, max(0.0, now - sent_at))
                return

    def unheard(self, now: float) -> list[SentFrame]:
        """Return the frames that were sent but not heard yet, oldest first."""
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
