"""A transport for tests without a network: the test feeds microphone frames, and lets time pass."""

from backend.errors import VoiceError
from backend.media.frame import SILENCE, Frame
from backend.transports.base import BufferedTransport


class FakeTransport(BufferedTransport):
    """A transport without a network. `played` is what the caller has heard, a frame a tick."""

    def __init__(self, *, arrived: bool = True) -> None:
        """`arrived`: the caller is there from the beginning; otherwise from `arrive()` on."""
        self.played: list[Frame] = []
        self.closed = False
        super().__init__(queue_frames=100_000)
        self.arrive = self._queue.arrive
        if arrived:
            self.arrive()

    def feed(self, *frames: Frame) -> None:
        """Send frames of the caller's microphone."""
        self._queue.enqueue(frames)

    def finish(self, error: VoiceError | None = None) -> None:
        """Let the caller hang up, or get lost with `error`."""
        self._queue.end(error)

    def tick(self, frames: int = 1) -> Frame:
        """Let 20 ms pass, `frames` times; return the frame that was heard last."""
        for _ in range(frames):
            self.played.append(self._playout.pull() or SILENCE)
        return self.played[-1]

    async def close(self) -> None:
        """Hang up."""
        self.closed = True
        self._queue.close()
