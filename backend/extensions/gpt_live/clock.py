"""The audio that is sent to GPT-Live is its clock: it hears and speaks only while audio arrives.

The call sends only speech, so silence fills the time in which the caller says nothing. The silence is no longer than
the time that has passed, since audio ahead of time is heard late. None is put within speech, which may come in bursts.
"""

from backend.media.frame import BYTES_PER_MS

CHUNK_MS = 100
"""Milliseconds of audio in one message."""
QUIET_S = 0.2
"""Seconds without speech after which silence is sent."""
BEHIND_MOST_MS = 400
"""The most milliseconds of missed time that are made up for."""
_CHUNK_BYTES = CHUNK_MS * BYTES_PER_MS


class InputClock:
    """Cuts the caller's speech into messages, and fills its pauses. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._piece = bytearray()
        self._began: float | None = None
        self._sent_ms = 0
        self._spoken_at = float("-inf")

    def push(self, pcm: bytes, now: float) -> list[bytes]:
        """Take the caller's 24 kHz PCM16; return the chunks that are to be sent now."""
        self._spoken_at = now
        self._piece += pcm
        ready: list[bytes] = []
        while len(self._piece) >= _CHUNK_BYTES:
            ready.append(self._next())
        return ready

    def tick(self, now: float) -> list[bytes]:
        """Return the rest of the speech, and the silence that is due after it."""
        if self._began is None:
            self._began = now
        if now - self._spoken_at < QUIET_S:
            return []
        ready: list[bytes] = []
        if self._piece:
            self._piece += bytes(_CHUNK_BYTES - len(self._piece))
            ready.append(self._next())
        passed_ms = (now - self._began) * 1000
        if passed_ms - self._sent_ms > BEHIND_MOST_MS:
            self._sent_ms = round(passed_ms) - BEHIND_MOST_MS
        while passed_ms - self._sent_ms >= CHUNK_MS:
            self._piece += bytes(_CHUNK_BYTES)
            ready.append(self._next())
        return ready

    def _next(self) -> bytes:
        chunk = bytes(self._piece[:_CHUNK_BYTES])
        del self._piece[:_CHUNK_BYTES]
        self._sent_ms += CHUNK_MS
        return chunk
