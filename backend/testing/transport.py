"""A caller made of lists, for tests: microphone frames are fed by hand, and so is time."""

from __future__ import annotations

from backend.errors import VoiceError
from backend.media.frame import SILENCE, Frame
from backend.media.playout import OnPlayed, Playout
from backend.transports.base import OnPlayback, ReceiveQueue


class FakeTransport:
    """A transport without a wire. `played` is what the caller has heard, a frame a tick."""

    def __init__(self, *, arrived: bool = True) -> None:
        """`arrived`: the caller is there from the beginning; else from `arrive()` on."""
        self.played: list[Frame] = []
        self.closed = False
        self._receive_queue = ReceiveQueue(limit=100_000)
        self._playout = playout = Playout()
        # What `Transport` asks for, the queue and the playout do themselves.
        self.receive_frames, self.wait_ended = self._receive_queue.receive_frames, self._receive_queue.wait_ended
        self.arrive, self.wait_arrived = self._receive_queue.arrive, self._receive_queue.wait_arrived
        self.play, self.flush = playout.push, playout.flush
        self.restore, self.forget = playout.restore, playout.forget
        self.hold, self.resume = playout.hold, playout.resume
        self.duck, self.unduck = playout.duck, playout.unduck
        if arrived:
            self.arrive()

    def feed(self, *frames: Frame) -> None:
        """Let the caller say something."""
        self._receive_queue.enqueue(frames)

    def finish(self, error: VoiceError | None = None) -> None:
        """Let the caller hang up, or be lost."""
        self._receive_queue.end(error)

    def tick(self, frames: int = 1) -> Frame:
        """Let 20 ms pass, `frames` times; return the frame that was heard last."""
        for _ in range(frames):
            self.played.append(self._playout.pull() or SILENCE)
        return self.played[-1]

    def listen_to_playback(self, on_playback: OnPlayback) -> None:
        """Call `on_playback` when items start and when the queue drains."""
        self._playout.on_playback = on_playback

    def watch_played(self, on_played: OnPlayed) -> None:
        """Call `on_played` at each tick with the frame that is heard, None for silence."""
        self._playout.on_played = on_played

    def stats(self) -> dict[str, float]:
        """Return the frames not yet received, and the milliseconds of reply not yet played."""
        return {"inbox_frames": len(self._receive_queue), "queued_ms": self._playout.queued_ms}

    async def close(self) -> None:
        """Hang up."""
        self.closed = True
        self._receive_queue.close()
