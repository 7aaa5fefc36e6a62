"""The transport of a client that speaks the Realtime protocol over WebRTC: the audio as media, the events by a channel.

The audio is carried as in any WebRTC call. The client opens the data channel `oai-events`, and sends the events of
`ClientProtocol` over it. The Responder connects once the client has configured its session, or after `READY_WITHIN_S`;
it does not wait if the offer's session has chosen a voice.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiortc import RTCDataChannel

from backend.errors import TransportLost
from backend.extensions.realtime_endpoint.event_socket import LAST_WITHIN_S, encode_event
from backend.extensions.realtime_endpoint.protocol import ClientProtocol
from backend.extensions.realtime_endpoint.websocket import READY_WITHIN_S
from backend.media.frame import Frame
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.transports.base import OnFrame
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.offer import asks_for_data, sanitise_offer
from backend.transports.webrtc.transport import WebRTCTransport, answer_with

CHANNEL = "oai-events"
CHANNEL_WITHIN_S = 3.0
"""Seconds that the call waits for the channel after the first connectivity check."""
WAITING_BYTES = 1_000_000
"""Bytes of events that may wait for a client that does not read. Beyond, it is disconnected."""


async def accept_realtime_offer(sdp: str, config: IceConfig, session: ClientSession) -> tuple[str, RealtimeCall]:
    """Answer a client's offer; return the SDP answer and the transport of the call that now begins.

    Raises `BadOffer` for an offer that cannot be answered and `TooMany` when no port is left; nothing stays open then.
    """
    return await answer_with(RealtimeCall(config, session), sanitise_offer(sdp, data=True))


class RealtimeCall(WebRTCTransport):
    """One call; `protocol` handles the events of its channel. See `transports.base.Transport`."""

    def __init__(self, config: IceConfig, session: ClientSession) -> None:
        self._channel: RTCDataChannel | None = None
        self._sent = asyncio.Event()
        self._start_timer: asyncio.TimerHandle | None = None
        self._configured = session.voice_chosen
        super().__init__(config, self._open)
        self.protocol = ClientProtocol(session, self._send, None)
        self.protocol.on_ready = self._begin
        self.receive_frames = self._receive_frames

    async def answer(self, offer: str) -> str:
        """Answer a sanitised offer; from now on the client has `connect_within_s` to connect."""
        self._configured = self._configured or not asks_for_data(offer)
        return await super().answer(offer)

    async def close(self) -> None:
        """Give the last events a moment to leave, then release everything."""
        if self._start_timer is not None:
            self._start_timer.cancel()
        if self._waiting_bytes:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WITHIN_S):
                    await self._sent.wait()
        await super().close()

    async def _receive_frames(self, on_frame: OnFrame) -> None:
        def receive(frame: Frame) -> None:
            self.protocol.count_audio(len(frame))
            on_frame(frame)

        await self._queue.receive_frames(receive)

    # --- events -------------------------------------------------------------------------------------------------

    @property
    def _waiting_bytes(self) -> int:
        """Return the bytes that the open channel has not sent yet."""
        channel = self._channel
        return channel.bufferedAmount if channel is not None and channel.readyState == "open" else 0

    def _open(self, channel: RTCDataChannel) -> None:
        if self._channel is not None or channel.label != CHANNEL:
            channel.close()
            return
        self._channel = channel
        channel.on("message", self.protocol.receive)
        channel.on("bufferedamountlow", self._sent.set)
        self.protocol.begin()
        self._wait(READY_WITHIN_S)

    def _send(self, event: Json) -> None:
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return
        if self._waiting_bytes > WAITING_BYTES:
            self._end(TransportLost("The client does not read."))
            return
        self._sent.clear()
        try:
            channel.send(encode_event(event).decode())
        except ValueError:  # larger than what the client takes
            self.protocol.report_too_large(event["type"])

    # --- the beginning --------------------------------------------------------------------------------------------

    def _arrive(self) -> None:
        if self._configured:
            self._begin()
        elif self._start_timer is None:
            self._wait(CHANNEL_WITHIN_S)

    def _wait(self, seconds: float) -> None:
        if self._start_timer is not None:
            self._start_timer.cancel()
        self._start_timer = asyncio.get_running_loop().call_later(seconds, self._begin)

    def _begin(self) -> None:
        """Let the Responder connect, since the client's session is known or its time is over."""
        self._configured = True
        if self._start_timer is not None:
            self._start_timer.cancel()
        self.protocol.session.begun = True
        self._queue.arrive()
