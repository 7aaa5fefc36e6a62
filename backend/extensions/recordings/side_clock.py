"""Place each side's frames on the recording's one clock. Pure: the time is an argument.

Theory. What is played leaves in slots of exactly 20 ms, so its place is the count of slots; only after a stall, when
slots were skipped, the time says how many. What is received comes with the network's jitter, from a sound card with a
clock that is not ours: a hundred parts in a million are a third of a second in an hour. So received frames follow each
other without a gap, and once in `BLOCK_FRAMES` their least and greatest delay say whether frames are missing (then
there is a gap) or too many (then a frame without sound may be left out).
"""

from __future__ import annotations

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE

STALL_SAMPLES = SAMPLE_RATE // 20
"""How late a slot may be served before slots count as skipped: 50 ms, more than a clock catches up."""
BLOCK_FRAMES = 50
"""Received frames after which the clocks are compared: one second."""
MISSING_SAMPLES = SAMPLE_RATE // 50
"""By how much the earliest frame of a block must come late for frames to count as missing: 20 ms."""
AHEAD_SAMPLES = SAMPLE_RATE // 25
"""By how much the latest frame of a block must come early for frames to count as too many: 40 ms."""


class PlayedClock:
    """Places what was played. Positions are samples since the recording began."""

    def __init__(self) -> None:
        self._next: int | None = None

    def place(self, now: int, *, silent: bool = False) -> int:
        """Return the position of the slot served at `now`; call it for every slot, silent ones included."""
        due = self._next
        if due is None or (silent and now < due):  # the first ones were served late
            due = now
        elif now - due > STALL_SAMPLES:
            due += (now - due) // FRAME_SAMPLES * FRAME_SAMPLES
        self._next = due + FRAME_SAMPLES
        return due


class ReceivedClock:
    """Places what was received. Positions are samples since the recording began."""

    def __init__(self, waiting: int = 0) -> None:
        """`waiting`: frames that were received before the recording began, and come first."""
        self._next: int | None = None
        self._waiting = waiting
        self._delays: list[int] = []
        self.too_many = False
        """Whether a frame without sound may be left out, since more come than time passes."""

    def place(self, now: int) -> int:
        """Return the position of a frame received at `now`."""
        if self._next is None:
            self._next = max(0, now - (self._waiting + 1) * FRAME_SAMPLES)
        self._delays.append(now - self._next - FRAME_SAMPLES)
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
