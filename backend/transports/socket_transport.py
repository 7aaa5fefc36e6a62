"""A call's audio over an accepted WebSocket, by the media clock; a subclass decides the form of the messages.

TCP makes a sender wait instead of losing audio, so reading stops here while the call has not taken the frames; WebRTC
has to drop them. A caller that sends nothing at all (no audio, no ping) for 30 s is gone.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from backend.errors import MediaFailed, TransportLost, VoiceError
from backend.media.clock import SlotStream, current_media_clock
from backend.media.frame import FRAME_BYTES, Frame
from backend.media.receive import DtxSilence
from backend.runtime.supervisor import cancel_all
from backend.runtime.timer import Alarm
from backend.transports.base import BufferedTransport, OnPlayback
from backend.turns.events import Heard, PlaybackEvent, PlaybackStarted

log = logging.getLogger(__name__)

LOST_AFTER_S = 30.0
"""Seconds without any message after which the caller counts as gone."""
SEND_WITHIN_S = 2.0
"""Seconds in which a message must be sent; a slower network carries no conversation."""
AHEAD_S = 2.0
"""The most seconds of audio that a client may send ahead of time."""
QUEUE_FRAMES = 100
"""The most frames that wait: two seconds, the longest message and as much again."""
NORMAL = 1000
ORDERLY = frozenset({1000, 1001})
"""Close codes of a caller that left on purpose (RFC 6455, 7.4.1). 1005, no code at all, is not among them, because
uvicorn reports it for a broken TCP connection, too."""


class SocketTransport(BufferedTransport, ABC):
    """One call over an accepted WebSocket, made on the event loop; call `close` at the end. See `Transport`."""

    waits_for_receiver = True
    """True: reading stops while there is no receiver. False: reading goes on, and the newest frames are kept."""
    queue_frames = QUEUE_FRAMES
    orderly = ORDERLY

    def __init__(
        self, socket: WebSocket, *, lost_after_s: float | None = LOST_AFTER_S, send_within_s: float = SEND_WITHIN_S
    ) -> None:
        """With `lost_after_s` None a caller may send nothing for any time; the server's pings show if it is there."""
        super().__init__(self.queue_frames)
        self._socket = socket
        self._lost_after_s = lost_after_s
        self._send_within_s = send_within_s
        self._pending = bytearray()  # less than a frame
        self._dtx = DtxSilence(_now(), ahead_s=AHEAD_S)
        self._alarm = Alarm(self._fill)
        self._playout.on_playback = self._played
        self._on_playback: OnPlayback | None = None
        self._item = ""
        self._flushed = False
        self._slots = SlotStream(current_media_clock())
        self._open = True
        self._tasks = [
            asyncio.create_task(self._run(self._receive()), name="websocket in"),
            asyncio.create_task(self._run(self._send_slots()), name="websocket out"),
        ]
        self._set_alarm()
        self._arrive()

    def _arrive(self) -> None:
        """Note that the caller is there: it has sent its session's token."""
        self._queue.arrive()

    def listen_to_playback(self, on_playback: OnPlayback) -> None:
        self._on_playback = on_playback

    def flush(self) -> tuple[Heard, ...]:
        """Drop the queue, and send the client the order to drop its buffer."""
        self._flushed = True
        return super().flush()

    def restore(self) -> bool:
        """Queue the flushed audio again; an order to flush that was not sent yet is dropped."""
        restored = super().restore()
        self._flushed = self._flushed and not restored
        return restored

    async def close(self) -> None:
        self._queue.close()
        self._alarm.stop()
        self._slots.leave()
        await cancel_all(self._tasks)
        await self._leave(NORMAL, "ended")

    async def _run(self, work: Coroutine[None, None, None]) -> None:
        """Run `work`; a fault in it ends the call, which would otherwise go on silent in one direction."""
        try:
            await work
        except Exception as error:
            log.exception("a WebSocket call failed")
            self._end(MediaFailed(f"This call's audio failed ({type(error).__name__})."))

    async def _receive(self) -> None:
        while not self._queue.ended:
            try:
                async with asyncio.timeout(self._lost_after_s):
                    received = await self._socket.receive()
            except TimeoutError:
                self._end(TransportLost("The caller sends nothing more."))
                return
            if received["type"] == "websocket.disconnect":
                self._open = False
                orderly = received.get("code", NORMAL) in self.orderly
                self._end(None if orderly else TransportLost("The caller's connection broke."))
                return
            await self._receive_message(received)

    @abstractmethod
    async def _receive_message(self, received: Mapping[str, Any]) -> None:
        """Take a message, which is `bytes` or `text`."""

    async def _begin(self) -> None:
        """Send the messages before the first slot, if there are any."""

    @abstractmethod
    async def _send_slot(self) -> None:
        """Send the messages of one slot, every 20 ms."""

    async def _say_bye(self, reason: str) -> None:
        """Send the last message, if there is one; the caller may be gone."""

    async def _receive_audio(self, pcm: bytes) -> None:
        self._take_audio(pcm)
        await self._give_way()

    async def _give_way(self) -> None:
        """Wait for the receiver and for other calls: a client that sends too fast must not use all the time."""
        if self.waits_for_receiver:
            await self._queue.room()
        await asyncio.sleep(0)

    def _take_audio(self, pcm: bytes) -> None:
        self._pending += pcm
        whole = len(self._pending) - len(self._pending) % FRAME_BYTES
        frames = [Frame(bytes(self._pending[at : at + FRAME_BYTES])) for at in range(0, whole, FRAME_BYTES)]
        del self._pending[:whole]
        if frames:
            self._queue.enqueue(frames)
            self._dtx.delivered(len(frames), _now())

    def _fill(self) -> None:
        """Enqueue the silence that is due where the client sends no audio."""
        self._queue.enqueue(self._dtx.expire(_now()))
        self._set_alarm()

    def _set_alarm(self) -> None:
        if not self._queue.ended:
            self._alarm.set(self._dtx.due)

    async def _send_slots(self) -> None:
        await self._begin()
        while not self._queue.ended:
            await self._slots.next()
            await self._send_slot()

    async def _send(self, message: str | bytes) -> None:
        try:
            async with asyncio.timeout(self._send_within_s):
                if isinstance(message, str):
                    await self._socket.send_text(message)
                else:
                    await self._socket.send_bytes(message)
        except (OSError, RuntimeError, WebSocketDisconnect) as error:
            self._open = False
            fault = "is too slow" if isinstance(error, TimeoutError) else "broke"
            self._end(TransportLost(f"The caller's connection {fault}."))

    def _played(self, event: PlaybackEvent) -> None:
        if isinstance(event, PlaybackStarted):
            self._item = event.item
        if self._on_playback is not None:
            self._on_playback(event)

    def _end(self, error: VoiceError | None) -> None:
        self._queue.end(error)
        self._alarm.stop()

    async def _leave(self, code: int, reason: str) -> None:
        if not self._open:
            return
        self._open = False
        try:
            async with asyncio.timeout(self._send_within_s):
                await self._say_bye(reason)
                await self._socket.close(code, reason)
        except (OSError, RuntimeError, WebSocketDisconnect):
            return  # the caller is gone already


def _now() -> float:
    return asyncio.get_running_loop().time()
