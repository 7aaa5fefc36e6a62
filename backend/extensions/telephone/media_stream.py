"""A telephone call by a provider's media stream: G.711 both ways over a WebSocket, with marks for what was heard.

The provider plays from its own buffer. So a flush returns as heard what was sent, less the frames that the marks show
as unheard. `clear` drops those frames at the provider, and they are sent again if the reply is restored.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from starlette.websockets import WebSocket

from backend.errors import BadRequest
from backend.extensions.telephone.framing import ProviderFraming, StreamStarted
from backend.extensions.telephone.marks import MarkedPlayback, SentFrame
from backend.extensions.telephone.provider import TelephoneProvider
from backend.media import g711
from backend.media.frame import FRAME_MS
from backend.transports.phone_line import KEYS, OnKey
from backend.transports.socket_transport import SocketTransport
from backend.turns.events import Heard

POLICY = 1008


class MediaStreamTransport(SocketTransport):
    """One telephone call with a started stream: a `Transport`, and a `PhoneLine`."""

    presses_keys = False
    waits_for_receiver = False  # a telephone call begins immediately, and marks must be read

    def __init__(
        self,
        socket: WebSocket,
        framing: ProviderFraming,
        started: StreamStarted,
        provider: TelephoneProvider,
        **limits: float,
    ) -> None:
        self._framing = framing
        self._call = started.call
        self._provider = provider
        self._decoder = g711.Decoder(started.law)
        self._encoder = g711.Encoder(started.law)
        self._marks = MarkedPlayback()
        self._dropped: list[SentFrame] = []  # the frames that the last flush dropped
        self._again: deque[SentFrame] = deque()  # the frames to send again, before the playout's
        self._on_key: OnKey | None = None
        super().__init__(socket, **limits)

    @property
    def transfers(self) -> bool:
        return bool(self._provider.transfers)

    def listen_to_keys(self, on_key: OnKey) -> None:
        self._on_key = on_key

    async def transfer(self, target: str) -> None:
        await self._provider.transfer(self._call, target)

    async def press(self, keys: str) -> int:
        return 0  # no message of a media stream presses a key

    async def hang_up(self) -> None:
        """Do nothing: the call ends with its stream, since nothing follows the stream in the webhook's answer."""

    def flush(self) -> tuple[Heard, ...]:
        """Drop the queues here and at the provider, and return the heard part according to the marks."""
        self._dropped = [*self._marks.clear(_now()), *self._again]
        self._again.clear()
        missing = Counter(frame.item for frame in self._dropped)
        return tuple(
            Heard(heard.item, max(0, heard.played_ms - missing[heard.item] * FRAME_MS)) for heard in super().flush()
        )

    def restore(self) -> bool:
        """Queue the flushed audio again, beginning with the part that the provider dropped."""
        was_sent = not self._flushed
        restored = super().restore()
        if restored and was_sent:
            self._again.extend(self._dropped)
        self._dropped = []
        return restored

    @property
    def queued_ms(self) -> int:
        return self._playout.queued_ms + (len(self._marks.unheard(_now())) + len(self._again)) * FRAME_MS

    async def _receive_message(self, received: Mapping[str, Any]) -> None:
        try:
            message = self._framing.read(received.get("text") or "")
        except BadRequest as error:
            self._end(None)
            await self._leave(POLICY, str(error))
            return
        match message.event:
            case "media" if sound := self._framing.sound(message.media):
                await self._receive_audio(self._decoder.decode(sound))
            case "mark" | "playedStream":
                self._marks.came_back(message.mark.name or message.name, _now())
            case "dtmf" if (key := message.dtmf.digit.upper()) in KEYS and self._on_key is not None:
                self._on_key(key)
            case "stop":
                self._end(None)

    async def _send_slot(self) -> None:
        if self._flushed:
            self._flushed = False
            await self._send(self._framing.clear())
        now = _now()
        if self._again:
            item, payload = self._again[0].item, self._again.popleft().payload
        else:
            frame = self._playout.pull()
            if frame is None:
                if mark := self._marks.paused(now):
                    await self._send(self._framing.mark(mark))
                return
            item, payload = self._item, self._encoder.encode(frame)
        mark = self._marks.sent(item, payload, now)
        await self._send(self._framing.audio(payload))
        if mark:
            await self._send(self._framing.mark(mark))


def _now() -> float:
    return asyncio.get_running_loop().time()
