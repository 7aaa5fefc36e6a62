"""The protocol of a transport, which carries a caller's audio both ways, and the receive queue of all implementations.

Implementations are `webrtc` (the browser), `websocket` (networks without UDP) and `testing.transport` (tests). All of
them keep outgoing audio in a `media.playout.Playout` and pass `tests/contracts/test_transport.py`.
"""

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
"""Called on the event loop when an item's first frame is sent and when the queue drains."""
QUEUE_FRAMES = 50
"""The most frames kept for a receiver that is not there yet (one second); the oldest are dropped first."""


class Transport(Protocol):
    """One caller's audio. Methods are called on the event loop; all that are not coroutines return immediately."""

    async def receive_frames(self, on_frame: OnFrame) -> None:
        """Call `on_frame` with the caller's frames in order, losses concealed, beginning with the last second.

        Returns when the caller has hung up. Raises `TransportLost` if the network is gone (no packet for 10 s) or the
        connection never came up (10 s), `MediaFailed` for a fault in an encoder, a decoder or a slot, and whatever
        `on_frame` raises. There is one receiver at a time.
        """

    async def wait_arrived(self) -> None:
        """Wait until the caller is there: a message from its address proves that it got our answer.

        The proof is a WebSocket, or over WebRTC the first valid connectivity check. Without one this never returns.
        """

    async def wait_ended(self) -> None:
        """Wait until the caller has hung up, or the network or the media failed; `receive_frames` raises the error."""

    def listen_to_playback(self, on_playback: OnPlayback) -> None:
        """Call `on_playback` whenever an item's first frame is sent, and when the queue drains."""

    def watch_played(self, on_played: OnPlayed) -> None:
        """Call `on_played` every 20 ms with the frame that is sent, None for silence; it must not wait."""

    def play(self, item: str, pcm: bytes) -> bool:
        """Queue 24 kHz mono PCM16 of `item`, any length; return False if the queue is full and `pcm` was dropped."""

    def hold(self) -> None:
        """Play silence from the next frame on, and keep the queue."""

    def resume(self) -> None:
        """Go on where `hold` stopped; no sample is lost or repeated."""

    def duck(self) -> None:
        """Turn playback down by `media.playout.DUCK_DB`, at most 40 ms after the call, and play on."""

    def unduck(self) -> None:
        """Return to full volume, within 100 ms."""

    def flush(self) -> tuple[Heard, ...]:
        """Drop the queue and end a hold or a ducking; return, oldest first, each item not played to its end.

        The dropped audio is kept for `restore` until other audio is queued or the next flush drops some.
        """

    def restore(self) -> bool:
        """Queue again what the last flush dropped, from the very sample where it stopped; its item starts once more.

        Its played time goes on counting. Return False if nothing can be restored, or other audio was queued since.
        """

    def forget(self) -> None:
        """Release the audio that the last flush dropped, which will not be restored."""

    @property
    def inbox_frames(self) -> int:
        """Return the number of the caller's frames that are not received yet."""

    @property
    def queued_ms(self) -> int:
        """Return the milliseconds of reply audio that the caller has not got yet, as far as is known."""

    async def close(self) -> None:
        """Release sockets and tasks within 5 s; `receive_frames` returns. Safe to call twice."""


class ReceiveQueue:
    """The frames from the network to one receiver, which gets them immediately and in order.

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
        """True if nothing more can be enqueued."""

    def __len__(self) -> int:
        return len(self._kept)

    async def receive_frames(self, on_frame: OnFrame) -> None:
        """Call `on_frame` with the kept frames, then with every frame as it is enqueued, until the end.

        Raises the error with which the queue ended, and whatever `on_frame` raises.
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
        """Pass frames to the receiver, or keep the newest; after the end, drop them."""
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
        """Note that the caller is there, even if no frame has come yet. The first call counts."""
        self._arrival.set()

    async def wait_arrived(self) -> None:
        """Wait until the caller is there."""
        await self._arrival.wait()

    async def wait_ended(self) -> None:
        """Wait until nothing more can be enqueued."""
        await self._end.wait()

    async def room(self) -> None:
        """Wait until all kept frames have been received, for networks that can be made to wait."""
        while self._kept and not self.ended:
            self._room.clear()
            await self._room.wait()

    def end(self, error: VoiceError | None = None) -> None:
        """End the queue: the receiver gets the kept frames, then the end or `error`. The first call counts."""
        if self.ended:
            return
        self.ended = True
        self._end.set()
        self._error = error
        self._release()
        self._room.set()

    def close(self) -> None:
        """End immediately and forget the kept frames."""
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
    """The base of all transports: a queue for the receiver and a playout for the caller; see `Transport`."""

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
