"""The transport of an RTVI client over a WebSocket: messages and audio in binary frames, as `frames` describes them.

Our media clock paces the audio, so that the server can turn a reply down and knows the heard part. Pipecat's player
loses sound after it has run empty. So a reply begins a little ahead of time, and sounds on that long when interrupted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from starlette.websockets import WebSocket

from backend.errors import BadRequest, TransportLost
from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio, write_message
from backend.extensions.rtvi.messages import encode, refusal
from backend.extensions.rtvi.protocol import RtviProtocol
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import Resampler
from backend.runtime.json_objects import Json
from backend.transports.socket_transport import SocketTransport

RATES = frozenset({8_000, 16_000, 24_000, 32_000, 44_100, 48_000})
"""The accepted samples per second."""
AHEAD_FRAMES = 5
"""Frames (100 ms) by which a reply is sent ahead of time."""
OUTBOX_LIMIT = 2_000
"""Messages that may wait for a client that does not read. Beyond, it is disconnected."""
INVALID = 1003
"""Close code: data of an unsupported kind."""


class RtviSocket(SocketTransport):
    """One call over an accepted WebSocket; `protocol` handles its messages."""

    def __init__(self, socket: WebSocket, *, ahead_frames: int = AHEAD_FRAMES) -> None:
        self.protocol = RtviProtocol(self._enqueue)
        self._outbox: deque[bytes] = deque()
        self._resampler: Resampler | None = None
        self._rate = 0
        self._most_ahead = ahead_frames
        self._ahead = 0  # frames that the client has before they are due
        super().__init__(socket, lost_after_s=None)  # a muted client sends nothing

    async def _receive_message(self, received: Mapping[str, Any]) -> None:
        try:
            data = received.get("bytes")
            if data is None:
                raise BadRequest("Messages are binary frames.", hint="Use Pipecat's ProtobufFrameSerializer.")
            match read_frame(data):
                case AudioFrame() as audio:
                    await self._receive_audio(self._resampled(audio))
                case bytes() as message:
                    self.protocol.receive(message)
        except BadRequest as error:
            self._end(None)
            self._outbox.append(refusal(f"{error} {error.hint}".strip()))
            await self._leave(INVALID, str(error))

    def _resampled(self, audio: AudioFrame) -> bytes:
        """Return audio at our rate. Raises `BadRequest` for anything but mono PCM16 at one of `RATES`."""
        if audio.rate not in RATES or audio.channels != 1 or len(audio.pcm) % 2:
            raise BadRequest("Audio is mono PCM16 at a usual rate.", hint=f"Send one of {sorted(RATES)} Hz.")
        if self._resampler is None or audio.rate != self._rate:
            self._resampler, self._rate = Resampler(audio.rate, SAMPLE_RATE), audio.rate
        return self._resampler.push(audio.pcm)

    def _enqueue(self, message: Json) -> None:
        if len(self._outbox) >= OUTBOX_LIMIT:
            self._end(TransportLost("The client does not read."))
            return
        self._outbox.append(write_message(encode(message)))

    async def _send_slot(self) -> None:
        while self._outbox:
            await self._send(self._outbox.popleft())
        if self._ahead and not self._playout.queued_ms:
            self._ahead -= 1  # the client plays what it was sent ahead
            return
        frame = self._playout.pull()
        if frame is None:
            return
        await self._send(write_audio(frame, SAMPLE_RATE))
        while self._ahead < self._most_ahead and (frame := self._playout.pull()) is not None:
            self._ahead += 1
            await self._send(write_audio(frame, SAMPLE_RATE))

    async def _say_bye(self, reason: str) -> None:
        while self._outbox:
            await self._socket.send_bytes(self._outbox.popleft())
