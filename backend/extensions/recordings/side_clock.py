"""Place each side's frames on the recording's one clock. Pure: the time is an argument.

Theory. What is received comes with the network's jitter, from a sound card with a clock that is not ours: a hundred
parts in a million are a third of a second in an hour. What is played leaves in slots of 20 ms, of which a stall skips
some. So frames follow each other without a gap, and once in `BLOCK_FRAMES` their least and greatest delay say whether
frames are missing (then there is a gap) or too many (then a received frame without sound may be left out).
"""

from __future__ import annotations

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE

BLOCK_FRAMES = 50
"""Frames after which the clocks are compared: one second."""
MISSING_SAMPLES = SAMPLE_RATE // 50
"""By how much the earliest frame of a block must come late for frames to count as missing: 20 ms."""
AHEAD_SAMPLES = SAMPLE_RATE // 25
"""By how much the latest frame of a block must come early for frames to count as too many: 40 ms."""


class SideClock:
    """Places the frames of one side. Positions are samples since the recording began."""

    def __init__(self, before: int = 0) -> None:
        """`before`: frames that are past when the first one is placed: a received one, and those that wait."""
        self._next: int | None = None
        self._lead = before * FRAME_SAMPLES
        self._delays: list[int] = []
        self.too_many = False
        """Whether a frame without sound may be left out, since more come than time passes."""

    def place(self, now: int) -> int:
        """Return the position of a frame received, or of the slot served, at `now`."""
        if self._next is None:
            self._next = max(0, now - self._lead)
        # A frame is received when it has been said: its delay counts from its end.
        self._delays.append(now - self._next - min(self._lead, FRAME_SAMPLES))
        if len(self._delays) >= BLOCK_FRAMES:
            least, greatest = min(self._delays), max(self._delays)
            self._delays.clear()
            self.too_many = greatest < -AHEAD_SAMPLES
            if least > MISSING_SAMPLES:
                self._next += least
        position = self._next
        self._next += FRAME_SAMPLES
        return position

    def leave_out(self) -> None:
        """Take the frame placed last as left out: the next one gets its place."""
        if self._next is not None:
            self._next -= FRAME_SAMPLES
        self.too_many = False
