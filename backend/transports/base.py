"""The protocol of a transport, which carries a caller's audio both ways, and the queue each implementation receives by.

Implementations are `webrtc` (the browser), `websocket` (networks without UDP) and `FakeTransport` (tests). All of
them keep outgoing audio in a `media.playout.Playout` and pass `tests/contracts/test_transport.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from backend.errors import VoiceError
from backend.media.frame import Frame
from backend.media.playout import OnPlayed, Playout
from backend.turns.events import Heard, PlaybackEvent

OnFrame = Callable[[Frame], object]
"""Called on the event loop with each frame of the caller's microphone, in order; must not wait for anything."""
OnPlayback = Callable[[PlaybackEvent], None]
"""Called on the event loop when an item's first frame leaves and when the queue drains."""
QUEUE_FRAMES = 50
"""Frames kept for a receiver that is not there yet (one second); the oldest are dropped first."""


class Transport(Protocol):
    """One caller. Every method but `receive_frames` and `close` returns immediately and is called on the event loop."""

    async def receive_frames(self, on_frame: OnFrame) -> None:
        """Call `on_frame` with the caller's microphone in order, losses concealed, beginning with the last second.

        Returns when the caller has hung up. Raises `TransportLost` when the network is gone (no packet for 10 s) or the
        connection never came up (10 s), `MediaFailed` for a fault in an encoder, a decoder or a slot, and whatever
        `on_frame` raises. One receiver at a time.
        """

    async def wait_arrived(self) -> None:
        """Wait until the caller is there: what came from its address proves that it got our answer.

        That is a WebSocket, or over WebRTC the first valid connectivity check. Never returns for one that never comes.
        """

    async def wait_ended(self) -> None:
        """Wait until the caller has hung up, or the network or the media failed: `receive_frames` then says which."""

    def listen_to_playback(self, on_playback: OnPlayback) -> None:
        """Call `on_playback` whenever an item's first frame leaves, and when the queue drains."""

    def watch_played(self, on_played: OnPlayed) -> None:
        """Call `on_played` every 20 ms with the frame that leaves, None for silence; it must not wait for anything."""

    def play(self, item: str, pcm: bytes) -> bool:
        """Queue 24 kHz mono PCM16 of `item`, any length. False: the queue is full and `pcm` was dropped."""

    def hold(self) -> None:
        """Play silence from the next frame on, keeping what is queued."""

    def resume(self) -> None:
        """Go on where `hold` stopped; no sample is lost or repeated."""

    def duck(self) -> None:
        """Play on, turned down by `media.playout.DUCK_DB`: what is sent has that level 40 ms after the call at most."""

    def unduck(self) -> None:
        """Return to full volume, within 100 ms."""

    def flush(self) -> tuple[Heard, ...]:
        """Drop what is queued and end a hold or a ducking; return, oldest first, each item not played to its end.

        What was dropped is kept for `restore` until something else is played or the next flush drops something.
        """

    def restore(self) -> bool:
        """Queue again what the last flush dropped, from the very sample where it stopped; its item starts once more.

        Its played time goes on counting. False: there is nothing to restore, or something was played since.
        """

    def forget(self) -> None:
        """Release what the last flush dropped: it is not going to be restored."""

    @property
    def inbox_frames(self) -> int:
        """Return how many frames of the caller's are not received yet."""

    @property
    def queued_ms(self) -> int:
        """Return the milliseconds of reply that the caller has not got yet, as far as is known."""

    async def close(self) -> None:
        """Release sockets and tasks within 5 s; `receive_frames` returns. Safe to call twice."""


class ReceiveQueue:
    """Frames on their way from the network to one receiver: handed on immediately, in order, and ended once.

    While there is no receiver, the newest `limit` frames are kept.
    """

    def __init__(self, limit: int = QUEUE_FRAMES) -> None:
        self._kept: deque[Frame] = deque(maxlen=limit)
        self._on_frame: OnFrame | None = None
        self._over: asyncio.Future[None] | None = None  # what `receive_frames` waits for
        self._error: VoiceError | None = None
        self._room = asyncio.Event()
        self._end = asyncio.Event()
        self._arrival = asyncio.Event()
        self.ended = False
        """True once nothing more can be enqueued."""

    def __len__(self) -> int:
        return len(self._kept)

    async def receive_frames(self, on_frame: OnFrame) -> None:
        """Call `on_frame` with what is kept, then with every frame as it is enqueued, until the end.

        Raises the error the queue ended with, and whatever `on_frame` raises.
        """
        while self._kept:
            on_frame(self._kept.popleft())
        self._room.set()
        if not self.ended:
            self._over = asyncio.get_running_loop().create_future()
            self._on_frame = on_frame
            try:
                await self._over
            finally:
                self._on_frame = None
        if self._error is not None:
            raise self._error

    def enqueue(self, frames: Iterable[Frame]) -> None:
        """Hand frames to the receiver, or keep the newest; after the end they are dropped."""
        if self.ended:
            return
        if (on_frame := self._on_frame) is None:
            self._kept.extend(frames)
            return
        try:
            for frame in frames:
                on_frame(frame)
        except Exception as error:  # noqa: BLE001 - `receive_frames` raises it
            self._release(error)

    def arrive(self) -> None:
        """The caller is there, though no frame may have come yet. The first call counts."""
        self._arrival.set()

    async def wait_arrived(self) -> None:
        """Wait until the caller is there."""
        await self._arrival.wait()

    async def wait_ended(self) -> None:
        """Wait until nothing more can be enqueued."""
        await self._end.wait()

    async def room(self) -> None:
        """Wait until everything has been received, for networks that can be made to wait."""
        while self._kept and not self.ended:
            self._room.clear()
            await self._room.wait()

    def end(self, error: VoiceError | None = None) -> None:
        """Enqueue no more frames: the receiver gets what is kept, then the end or `error`. The first call counts."""
        if self.ended:
            return
        self.ended = True
        self._end.set()
        self._error = error
        self._release()
        self._room.set()

    def close(self) -> None:
        """End immediately and forget what is kept."""
        self._kept.clear()
        self._error = None
        self.end()

    def _release(self, error: Exception | None = None) -> None:
        """Let `receive_frames` go on, with `error` if there is one."""
        self._on_frame = None
        if self._over is not None and not self._over.done():
            if error is None:
                self._over.set_result(None)
            else:
                self._over.set_exception(error)


class BufferedTransport:
    """What all transports do alike, by a queue for the receiver and a playout for the caller: see `Transport`."""

    def __init__(self, queue_frames: int = QUEUE_FRAMES) -> None:
        self._queue = queue = ReceiveQueue(queue_frames)
        self._playout = playout = Playout()
        self.receive_frames, self.wait_ended = queue.receive_frames, queue.wait_ended
        self.wait_arrived = queue.wait_arrived
        self.play, self.forget = playout.push, playout.forget
        self.hold, self.resume = playout.hold, playout.resume
        self.duck, self.unduck = playout.duck, playout.unduck

    def listen_to_playback(self, on_playback: OnPlayback) -> None:
        self._playout.on_playback = on_playback

    def watch_played(self, on_played: OnPlayed) -> None:
        self._playout.on_played = on_played

    def flush(self) -> tuple[Heard, ...]:
        return self._playout.flush()

    def restore(self) -> bool:
        return self._playout.restore()

    @property
    def inbox_frames(self) -> int:
        return len(self._queue)

    @property
    def queued_ms(self) -> int:
        return self._playout.queued_ms
