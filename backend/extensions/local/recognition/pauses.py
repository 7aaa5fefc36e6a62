"""The caller's pauses, by loudness alone, decide when to decode, what a decoded part covers, and where to cut. Pure.

A frame of 20 ms is quiet if it is nearer to the quietest of the last seconds than to the loudest. An error does little
harm: a false pause costs a decoder run, and a missed pause costs the time that it would have saved.
"""

from __future__ import annotations

import numpy as np

from backend.media.frame import BYTES_PER_MS, FRAME_BYTES

LEVEL_OVER_FRAMES = 250
"""The number of frames among which the quietest and the loudest are found: five seconds."""
QUIET_SHARE = 0.3
"""The share of the way from the quietest to the loudest, in dB, below which a frame is quiet."""
LEAST_SPAN_DB = 9.0
"""The least difference of quietest and loudest; with less, speech and pauses cannot be distinguished."""
SILENT_DBFS = -62.0
"""The level below which a frame is quiet in any case."""
CUT_FRAMES = 8
"""The length of the quietest place, in the middle of which a cut falls."""


class PauseTracker:
    """Follows one utterance. Offsets are bytes of 24 kHz mono PCM16 from where the tracker's audio begins."""

    def __init__(self) -> None:
        self._rest = b""
        self._levels: list[float] = []
        self.voice_end = 0
        """The offset of the end of the last frame that was not quiet."""

    @property
    def quiet_ms(self) -> int:
        """Return the milliseconds since the last frame that was not quiet."""
        return (len(self._levels) * FRAME_BYTES - self.voice_end) // BYTES_PER_MS

    def feed(self, pcm: bytes) -> None:
        """Take audio of any length."""
        stream = self._rest + pcm
        whole = len(stream) - len(stream) % FRAME_BYTES
        self._rest = stream[whole:]
        if not whole:
            return
        frames = np.frombuffer(stream[:whole], "<i2").astype(np.float32).reshape(-1, FRAME_BYTES // 2) / 32768
        levels = 10 * np.log10(np.mean(frames**2, axis=1) + 1e-10)
        begin = len(self._levels)
        self._levels.extend(levels.tolist())
        recent = self._levels[-LEVEL_OVER_FRAMES:]
        quietest, loudest = np.percentile(recent, 10), max(recent)
        bound = quietest + QUIET_SHARE * (loudest - quietest) if loudest - quietest >= LEAST_SPAN_DB else SILENT_DBFS
        loud = np.flatnonzero(levels > max(bound, SILENT_DBFS))
        if len(loud):
            self.voice_end = (begin + int(loud[-1]) + 1) * FRAME_BYTES

    def quietest(self, begin: int, end: int) -> int:
        """Return the offset within the quietest place from `begin` to `end`."""
        levels = np.asarray(self._levels[begin // FRAME_BYTES : end // FRAME_BYTES])
        if len(levels) <= CUT_FRAMES:
            return end - end % FRAME_BYTES
        power = np.convolve(10 ** (levels / 10), np.ones(CUT_FRAMES), "valid")
        return (begin // FRAME_BYTES + int(power.argmin()) + CUT_FRAMES // 2) * FRAME_BYTES

    def forget(self, until: int) -> None:
        """Forget the audio before the offset `until`, a whole number of frames. Offsets then count from there."""
        del self._levels[: until // FRAME_BYTES]
        self.voice_end = max(0, self.voice_end - until)
