"""The transport of an RTVI client over WebRTC, for Pipecat's `SmallWebRTCTransport`. Audio is carried as in any
browser's call, and messages are text on the data channel that the client opens.
"""

from __future__ import annotations

import asyncio
import json
import logging

from aiortc import InvalidStateError, RTCDataChannel

from backend.errors import TransportLost
from backend.extensions.rtvi.messages import encode
from backend.extensions.rtvi.protocol import RtviProtocol
from backend.extensions.rtvi.sections import with_video, without_video
from backend.runtime.json_objects import Json
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.offer import sanitise_offer
from backend.transports.webrtc.transport import WebRTCTransport, answer_with

log = logging.getLogger(__name__)

BUFFER_BYTES = 1_000_000
"""Bytes that may wait for a client that does not read. Beyond, it is disconnected."""
LEAVES_WITHIN_S = 0.5
"""Seconds the last message has to leave."""
PEER_LEFT = json.dumps({"type": "signalling", "message": {"type": "peerLeft"}})


async def accept_rtvi_offer(sdp: str, config: IceConfig) -> tuple[str, RtviPeer]:
    """Answer a client's offer; return the SDP answer and the transport of the call that now begins.

    Raises `BadOffer` for an offer that cannot be answered and `TooMany` when no port is left; nothing stays open then.
    """
    answer, transport = await answer_with(RtviPeer(config), sanitise_offer(without_video(sdp), data=True))
    return with_video(answer, sdp), transport


class RtviPeer(WebRTCTransport):
    """One call over WebRTC; `protocol` handles the messages of its data channel."""

    def __init__(self, config: IceConfig) -> None:
        self.protocol = RtviProtocol(self._send_message)
        self._channel: RTCDataChannel | None = None
        self._leaving = False
        super().__init__(config, self._on_channel)

    async def close(self) -> None:
        """Send the client `PEER_LEFT`, then close like any call."""
        if not self._leaving:
            self._leaving = True
            self._send_text(PEER_LEFT)
            await self._drain()
        await super().close()

    def _on_channel(self, channel: RTCDataChannel) -> None:
        """Use the first channel that the client opens."""
        if self._channel is not None:
            return
        self._channel = channel
        channel.on("message", self._on_message)

    def _on_message(self, text: str | bytes) -> None:
        try:
            self.protocol.receive(text)
        except Exception as error:
            log.exception("a message of an RTVI client failed")
            self._fail(error)

    def _send_message(self, message: Json) -> None:
        self._send_text(encode(message).decode())

    def _send_text(self, text: str) -> None:
        """Send a text; nothing is sent before the client has opened the channel."""
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return
        if channel.bufferedAmount > BUFFER_BYTES:
            self._end(TransportLost("The client does not read its messages."))
            return
        try:
            channel.send(text)
        except (InvalidStateError, ConnectionError):
            log.debug("an RTVI client's data channel is closed")

    async def _drain(self) -> None:
        """Give the last messages a moment to leave."""
        deadline = asyncio.get_running_loop().time() + LEAVES_WITHIN_S
        while self._channel is not None and self._channel.readyState == "open" and self._channel.bufferedAmount:
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(0.02)
