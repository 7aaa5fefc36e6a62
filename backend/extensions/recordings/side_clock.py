"""Place each side's frames on the recording's one clock. Pure: the time is an argument.

Theory. Received frames come with the network's jitter, and from a sound card with its own clock: 100 ppm are a third of
a second in an hour. Played frames leave in slots of 20 ms, and a stall skips some slots. So frames are placed without
gaps. After every `BLOCK_FRAMES`, the least and the greatest delay show whether frames are missing (then a gap is left)
or too many (then a received frame without sound may be left out).
"""

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE

BLOCK_FRAMES = 50
"""Frames after which the clocks are compared: one second."""
MISSING_SAMPLES = SAMPLE_RATE // 50
"""Frames are missing if even the earliest frame of a block is late by more samples than this (20 ms)."""
AHEAD_SAMPLES = SAMPLE_RATE // 25
"""There are too many frames if even the latest frame of a block is early by more samples than this (40 ms)."""


class SideClock:
    """Places the frames of one side. Positions are samples since the recording began."""

    def __init__(self, before: int = 0) -> None:
        """`before`: the number of frames by which the first one begins before its time of arrival."""
        self._next: int | None = None
        self._lead = before * FRAME_SAMPLES
        self._delays: list[int] = []
        self.too_many = False
        """True if a frame without sound may be left out, since frames come faster than time passes."""

    def place(self, now: int) -> int:
        """Return the position of the frame that is received or played at `now`."""
        if self._next is None:
            self._next = max(0, now - self._lead)
        # A frame arrives after it was spoken, so its delay counts from its end.
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
        """Leave the last placed frame out: the next one gets its place."""
        if self._next is not None:
            self._next -= FRAME_SAMPLES
        self.too_many = False
