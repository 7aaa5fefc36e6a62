"""The transport of a client that speaks the Realtime protocol over a WebSocket: events and audio in one stream.

Audio to the client is paced by our media clock, unless the session says otherwise. So a reply can be turned down while
somebody speaks over it, and what was heard is known here; docs/architecture.md has the reasons. Without pacing audio is
sent as it comes, and the same playout runs on silently: it tells the call when the client should have played it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from starlette.websockets import WebSocket

from backend.errors import MediaFailed, TransportLost, VoiceError
from backend.extensions.realtime_endpoint.event_socket import NORMAL, EventSocket, encode_event
from backend.extensions.realtime_endpoint.protocol import ClientProtocol
from backend.media import g711
from backend.media.clock import SlotStream, current_media_clock
from backend.media.frame import FRAME_BYTES, Frame
from backend.media.playout import OnPlayed, Playout
from backend.media.receive import DtxSilence
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import cancel_all
from backend.runtime.timer import Alarm
from backend.sessions.client_session import ClientSession
from backend.transports.base import OnPlayback, ReceiveQueue
from backend.turns.events import PlaybackEvent, PlaybackStarted

log = logging.getLogger(__name__)

READY_WITHIN_S = 0.5
"""Seconds a client has to configure its session before the Responder is connected with what there is."""
AHEAD_S = 2.0
"""Seconds of audio a client may send ahead of time before silence is due after it."""
QUEUE_FRAMES = 500
"""Ten seconds: what a client may send before the Responder is connected."""
ORDERLY = frozenset({1000, 1001, 1005})
"""Close codes of a client that left on purpose; programs often name none."""


class RealtimeSocket:
    """One call over an accepted WebSocket; `protocol` is what is spoken over it. See `transports.base.Transport`."""

    def __init__(self, socket: WebSocket, session: ClientSession) -> None:
        self._socket = socket
        self.protocol = ClientProtocol(session, self._enqueue, self)
        self.protocol.on_update, self.protocol.on_ready = self._adapt, self._arrive
        self._queue = ReceiveQueue(QUEUE_FRAMES)
        self._pending = bytearray()  # less than a frame
        self._dtx = DtxSilence(_now(), ahead_s=AHEAD_S)
        self._alarm = Alarm(self._fill)
        self._playout = playout = Playout(on_playback=self._played)
        # What `Transport` asks for, the queue and the playout do themselves.
        self.receive_frames, self.wait_ended = self._queue.receive_frames, self._queue.wait_ended
        self.wait_arrived = self._queue.wait_arrived
        self.forget = playout.forget
        self.hold, self.resume = playout.hold, playout.resume
        self.duck, self.unduck = playout.duck, playout.unduck
        self.flush = playout.flush
        self._on_playback: OnPlayback | None = None
        self._item = ""
        self._decoder: g711.Decoder | None = None
        self._encoder: g711.Encoder | None = None
        self._events = EventSocket(socket, self._end)
        self._held_back: list[bytes] | None = None  # events of a slot, to be sent after its audio
        self._slots = SlotStream(current_media_clock())
        self._adapt()
        self.protocol.begin()
        self._tasks = [
            asyncio.create_task(self._run(self._receive()), name="realtime in"),
            asyncio.create_task(self._run(self._events.run()), name="realtime out"),
            asyncio.create_task(self._run(self._play_slots()), name="realtime playout"),
        ]
        self._arriving = asyncio.get_running_loop().call_later(READY_WITHIN_S, self._arrive)

    def __repr__(self) -> str:
        return f"RealtimeSocket({self._events!r}, {self._queue!r}, {self._playout!r}, {self.protocol!r})"

    # --- Transport --------------------------------------------------------------------------------------------

    def listen_to_playback(self, on_playback: OnPlayback) -> None:
        self._on_playback = on_playback

    def watch_played(self, on_played: OnPlayed) -> None:
        self._playout.on_played = on_played

    def play(self, item: str, pcm: bytes) -> bool:
        queued = self._playout.push(item, pcm)
        if queued and not self._paced:
            self._enqueue_sound(item, pcm)
        return queued

    def restore(self) -> bool:
        """Queue again what was flushed. A client that was sent all of it at once has dropped it for good."""
        return self._paced and self._playout.restore()

    def stats(self) -> dict[str, float]:
        return {
            "inbox_frames": len(self._queue),
            "inbox_dropped": self._queue.dropped,
            "slots_skipped": self._slots.skipped,
            "worst_gap_ms": self._slots.worst_gap_ms,
            "queued_ms": self._playout.queued_ms,
        }

    async def close(self) -> None:
        self._queue.close()
        self._alarm.stop()
        self._arriving.cancel()
        self._slots.leave()
        await self._events.drain()
        await cancel_all(self._tasks)
        await self._events.close()

    # --- audio from the client ----------------------------------------------------------------------------------

    def append(self, audio: bytes) -> int:
        """Take audio in the session's format; return how many bytes of 24 kHz PCM16 it is."""
        pcm = self._decoder.decode(audio) if self._decoder else audio
        self._pending += pcm
        whole = len(self._pending) - len(self._pending) % FRAME_BYTES
        frames = [Frame(bytes(self._pending[at : at + FRAME_BYTES])) for at in range(0, whole, FRAME_BYTES)]
        del self._pending[:whole]
        if frames:
            self._queue.enqueue(frames)
            self._dtx.delivered(len(frames), _now())
            self._set_alarm()
        return len(pcm)

    def drop(self) -> None:
        """Forget less than a frame that is not passed on yet."""
        self._pending.clear()

    def _fill(self) -> None:
        """Put silence in the place of what the client does not send, so that its turn comes to an end."""
        self._queue.enqueue(self._dtx.expire(_now()))
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self._queue.ended or self.protocol.session.turn_detection is None:
            self._alarm.stop()  # a client that hands its turns in is not helped by silence
        else:
            self._alarm.set(self._dtx.due)

    async def _receive(self) -> None:
        while not self._queue.ended:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                self._events.open = False
                orderly = message.get("code", NORMAL) in ORDERLY
                self._end(None if orderly else TransportLost("The client's connection broke."))
                return
            text = message.get("text")
            if text is None:
                self.protocol.refuse_binary()
            else:
                self.protocol.receive(text)
            await self._queue.room()
            await asyncio.sleep(0)  # who sends faster than time does not get all of ours

    # --- events and audio to the client -------------------------------------------------------------------------

    @property
    def _paced(self) -> bool:
        return self.protocol.session.paced

    def _adapt(self) -> None:
        """Go over to the formats of the session."""
        session = self.protocol.session
        heard, spoken = session.input_law, session.output_law
        if heard is None or self._decoder is None or self._decoder.law is not heard:
            self._decoder = g711.Decoder(heard) if heard else None
        if spoken is None or self._encoder is None or self._encoder.law is not spoken:
            self._encoder = g711.Encoder(spoken) if spoken else None
        self._set_alarm()

    def _enqueue(self, event: Json) -> None:
        self._enqueue_text(encode_event(event))

    def _enqueue_text(self, text: bytes) -> None:
        if self._held_back is not None:
            self._held_back.append(text)
        else:
            self._events.send_text(text)

    def _enqueue_sound(self, name: str, pcm: bytes) -> None:
        """Send audio of the item that the call knows by `name`, in the client's format."""
        place = self.protocol.translator.sound(name)
        if place is None or self.protocol.session.modality == "text":
            return
        self.protocol.send(place.event(self._encoder.encode(Frame(pcm)) if self._encoder else pcm))

    async def _play_slots(self) -> None:
        while not self._queue.ended:
            await self._slots.next()
            self._held_back = []
            try:
                frame = self._playout.pull()
            finally:
                after, self._held_back = self._held_back, None
            if frame is not None and self._paced:
                self._enqueue_sound(self._item, frame)
            for text in after:
                self._enqueue_text(text)

    def _played(self, event: PlaybackEvent) -> None:
        if isinstance(event, PlaybackStarted):
            self._item = event.item
        if self._on_playback is not None:
            self._on_playback(event)

    # --- the end --------------------------------------------------------------------------------------------------

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`; a fault of ours in it ends the call, rather than leave it silent in one direction."""
        try:
            await work
        except Exception as error:
            log.exception("a call over the Realtime protocol failed")
            self._end(MediaFailed(f"This call's audio failed ({type(error).__name__})."))

    def _arrive(self) -> None:
        self._arriving.cancel()
        self.protocol.session.begun = True
        self._queue.arrive()

    def _end(self, error: VoiceError | None) -> None:
        self._queue.end(error)
        self._alarm.stop()


def _now() -> float:
    return asyncio.get_running_loop().time()
