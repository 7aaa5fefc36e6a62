"""The transport of a client that speaks the Realtime protocol over a WebSocket: events and audio in one stream.

Our media clock paces the audio to the client. So the server can turn a reply down while the caller speaks over it, and
knows the heard part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.websockets import WebSocket

from backend.extensions.realtime_endpoint.event_socket import EventSocket
from backend.extensions.realtime_endpoint.protocol import ClientProtocol
from backend.media import g711
from backend.media.frame import Frame
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.transports.socket_transport import ORDERLY, SocketTransport

READY_WITHIN_S = 0.5
"""Seconds a client has to configure its session before the Responder is connected without it."""
NO_CODE = 1005
"""The close code that is read when the client sent none (RFC 6455)."""


class RealtimeSocket(SocketTransport):
    """One call over an accepted WebSocket; `protocol` handles its events."""

    queue_frames = 500
    """Frames that a client may send before the Responder is connected: ten seconds."""
    orderly = ORDERLY | {NO_CODE}

    def __init__(self, socket: WebSocket, session: ClientSession) -> None:
        self.protocol = ClientProtocol(session, self._enqueue, self)
        self.protocol.on_update, self.protocol.on_ready = self._adapt, self._begin_call
        self._decoder: g711.Decoder | None = None
        self._encoder: g711.Encoder | None = None
        self._events = EventSocket(socket, self._end)
        self._held_back: list[Json] | None = None  # events of a slot, to be sent after its audio
        super().__init__(socket, lost_after_s=None)
        self._adapt()
        self.protocol.begin()
        self._tasks.append(asyncio.create_task(self._run(self._events.run()), name="realtime events"))

    async def close(self) -> None:
        self._queue.close()
        self._arriving.cancel()
        if self._open:
            await self._events.drain()
        await super().close()

    def append(self, audio: bytes) -> int:
        """Take audio in the session's format; return its length as bytes of 24 kHz PCM16."""
        pcm = self._decoder.decode(audio) if self._decoder else audio
        self._take_audio(pcm)
        self._set_alarm()
        return len(pcm)

    def drop(self) -> None:
        """Drop the rest, shorter than a frame, that was not passed on yet."""
        self._pending.clear()

    def _arrive(self) -> None:
        self._arriving = asyncio.get_running_loop().call_later(READY_WITHIN_S, self._begin_call)

    def _begin_call(self) -> None:
        self._arriving.cancel()
        self.protocol.session.begun = True
        self._queue.arrive()

    def _set_alarm(self) -> None:
        """Put silence where audio is missing, unless the client commits its turns."""
        if self._queue.ended or self.protocol.session.turn_detection is None:
            self._alarm.stop()
        else:
            self._alarm.set(self._dtx.due)

    async def _receive_message(self, received: Mapping[str, Any]) -> None:
        self.protocol.receive(received.get("text") or "")
        await self._give_way()

    def _adapt(self) -> None:
        """Use the audio formats of the session from now on."""
        session = self.protocol.session
        heard, spoken = session.input_law, session.output_law
        if heard is None or self._decoder is None or self._decoder.law is not heard:
            self._decoder = g711.Decoder(heard) if heard else None
        if spoken is None or self._encoder is None or self._encoder.law is not spoken:  # a state holds for one law
            self._encoder = g711.Encoder(spoken) if spoken else None
        self._set_alarm()

    def _enqueue(self, event: Json) -> None:
        if self._held_back is not None:
            self._held_back.append(event)
        else:
            self._events.send(event)

    def _enqueue_sound(self, name: str, pcm: bytes) -> None:
        """Send audio of the item that the call names `name`, in the client's format."""
        if self.protocol.session.modality == "text":
            return
        audio = self._encoder.encode(Frame(pcm)) if self._encoder else pcm
        if event := self.protocol.translator.sound(name, audio):
            self.protocol.send(event)

    async def _send_slot(self) -> None:
        self._held_back = []
        try:
            frame = self._playout.pull()
        finally:
            after, self._held_back = self._held_back, None
        if frame is not None:
            self._enqueue_sound(self._item, frame)
        for event in after:
            self._enqueue(event)
