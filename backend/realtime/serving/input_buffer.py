"""The caller's audio since the last commit: append, commit, clear. Bounded."""

from __future__ import annotations

from backend.media.frame import milliseconds
from backend.realtime.faults import Fault, invalid, nothing_to_commit
from backend.realtime.fields import MIN_COMMIT_MS, audio_of

MAX_APPEND_BYTES = 15 * 1024 * 1024
"""The API's own limit for one append, decoded."""
MAX_BUFFER_BYTES = 10 * 60 * 48_000
"""Ten minutes of 24 kHz PCM16; more is refused rather than kept."""


def decode_audio(encoded: str) -> bytes:
    """Return PCM16 out of base64. Raises `Fault`."""
    pcm = audio_of(encoded)
    if len(pcm) % 2:
        raise invalid("audio", "expected whole 16-bit samples.")
    if len(pcm) > MAX_APPEND_BYTES:
        raise invalid("audio", "one append may hold at most 15 MiB.")
    return pcm


class InputBuffer:
    """Audio waiting to become a user item."""

    def __init__(self) -> None:
        self._pcm = bytearray()
        self.fed = 0
        """Bytes that `unfed` has given out."""

    def append(self, pcm: bytes) -> None:
        """Add 24 kHz mono PCM16. Raises `Fault` when the buffer is full."""
        if len(self._pcm) + len(pcm) > MAX_BUFFER_BYTES:
            raise Fault("Input audio buffer is full: commit or clear it.", code="input_audio_buffer_overflow")
        self._pcm += pcm

    def take(self) -> bytes:
        """Return everything, for a commit. Raises `Fault` when there is less than 100 ms."""
        if len(self) < MIN_COMMIT_MS:
            raise nothing_to_commit(MIN_COMMIT_MS, len(self))
        pcm = bytes(self._pcm)
        self.clear()
        return pcm

    def unfed(self) -> bytes:
        """Return what has come since the last question."""
        pcm, self.fed = bytes(self._pcm[self.fed :]), len(self._pcm)
        return pcm

    def clear(self) -> None:
        """Forget everything."""
        self._pcm.clear()
        self.fed = 0

    def keep_last(self, keep_ms: int) -> None:
        """Forget all but the last `keep_ms` milliseconds (before speech starts, under server_vad)."""
        del self._pcm[: max(0, len(self._pcm) - keep_ms * 48)]

    def __len__(self) -> int:
        """Milliseconds held."""
        return milliseconds(len(self._pcm))

    def __repr__(self) -> str:
        return f"<InputBuffer {len(self)} ms>"
