"""The caller's audio since the last commit: append, commit, clear. Bounded."""

from backend.media.frame import BYTES_PER_MS, milliseconds
from backend.realtime.faults import Fault, invalid, nothing_to_commit
from backend.realtime.fields import MIN_COMMIT_MS, audio_of

MAX_BUFFER_BYTES = 10 * 60 * 48_000
"""The most bytes of the buffer: ten minutes of 24 kHz PCM16; more is refused."""


def decode_audio(encoded: str) -> bytes:
    """Return the PCM16 of a base64 text. Raises `Fault`."""
    pcm = audio_of(encoded)
    if len(pcm) % 2:
        raise invalid("audio", "expected whole 16-bit samples.")
    return pcm


class InputBuffer:
    """The audio that waits to become a user item: its length, and the part that was not passed on yet."""

    def __init__(self) -> None:
        self._unfed = bytearray()
        self._bytes = 0

    def append(self, pcm: bytes) -> None:
        """Add 24 kHz mono PCM16. Raises `Fault` when the buffer is full."""
        if self._bytes + len(pcm) > MAX_BUFFER_BYTES:
            raise Fault("Input audio buffer is full: commit or clear it.", code="input_audio_buffer_overflow")
        self._unfed += pcm
        self._bytes += len(pcm)

    def unfed(self) -> bytes:
        """Return the audio since the last call."""
        pcm = bytes(self._unfed)
        self._unfed.clear()
        return pcm

    def take(self) -> tuple[bytes, int]:
        """Empty the buffer; return the audio since `unfed`, and the bytes of all. Raises `Fault` under 100 ms."""
        if len(self) < MIN_COMMIT_MS:
            raise nothing_to_commit(MIN_COMMIT_MS, len(self))
        taken = self.unfed(), self._bytes
        self.clear()
        return taken

    def clear(self) -> None:
        """Forget everything."""
        self._unfed.clear()
        self._bytes = 0

    def keep_last(self, keep_ms: int) -> None:
        """Forget all but the last `keep_ms` milliseconds (before speech starts, under server_vad)."""
        del self._unfed[: max(0, len(self._unfed) - keep_ms * BYTES_PER_MS)]
        self._bytes = len(self._unfed)

    def __len__(self) -> int:
        """Return the milliseconds appended."""
        return milliseconds(self._bytes)
