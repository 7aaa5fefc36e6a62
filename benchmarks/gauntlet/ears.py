"""The hearing of one caller: answers, which are tones of known pitches, and the silences between them."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from backend.media.frame import FRAME_MS, SAMPLE_RATE
from responder_thinker.caller import ReceivedFrame

PURITY = 0.7
"""Share of a frame's power at the tone for which it counts."""
SAME_WITHIN_S = 1.0
"""Seconds of absence after which a tone counts as heard again; less may be a busy computer of the caller."""


class ToneWatch:
    """Waits for a tone after a moment, looking at each frame once: looking at all of them again would be late."""

    def __init__(self, frames: Sequence[ReceivedFrame], hz: int, since: float) -> None:
        self._frames = frames
        self._hz = hz
        self._since = since
        self._seen = len(frames)
        while self._seen and frames[self._seen - 1].at > since:
            self._seen -= 1
        self.began: float | None = None
        """The moment at which it was first heard."""

    def look(self) -> bool:
        """Return whether it has been heard by now."""
        while self.began is None and self._seen < len(self._frames):
            frame = self._frames[self._seen]
            self._seen += 1
            if is_tone(frame, self._hz):
                self.began = frame.at
        return self.began is not None


def times_heard(frames: Iterable[ReceivedFrame], hz: int, since: float = 0.0) -> list[float]:
    """Return the beginning of each hearing of a tone, in seconds on the event loop's clock."""
    began: list[float] = []
    last = float("-inf")
    for frame in frames:
        if frame.at <= since or not is_tone(frame, hz):
            continue
        if frame.at - last > SAME_WITHIN_S:
            began.append(frame.at)
        last = frame.at
    return began


def seconds_heard(frames: Iterable[ReceivedFrame], hz: int) -> float:
    """Return the total time of a tone."""
    return sum(is_tone(frame, hz) for frame in frames) * FRAME_MS / 1000


def longest_silence_s(frames: Iterable[ReceivedFrame], since: float, until: float) -> float:
    """Return the longest time between two sounds, from one moment to another."""
    heard = [frame.at for frame in frames if since < frame.at < until and frame.audible]
    return max(later - earlier for earlier, later in pairwise([since, *heard, until]))


def is_tone(frame: ReceivedFrame, hz: int) -> bool:
    """Return whether most of a frame's power is at that pitch."""
    if not frame.audible:
        return False
    samples = np.frombuffer(frame.frame, dtype="<i2").astype(float)
    wave = np.exp(-2j * np.pi * hz * np.arange(len(samples)) / SAMPLE_RATE)
    return bool(2 * abs(np.dot(samples, wave)) ** 2 / len(samples) > PURITY * np.dot(samples, samples))
