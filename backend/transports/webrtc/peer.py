"""One audio connection over aiortc, for either end: the server's (`answer`) or a caller's (`offer`, `accept`).

`on_packet` gets the received packets, `next_payload` returns the payload to send every 20 ms, and `on_state` gets the
state of the connection. The server's WebRTC transport and the `talk` client both use this. It uses only aiortc's public
API.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from enum import StrEnum

from aiortc import (
    InvalidAccessError,
    InvalidStateError,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCRtpSender,
    RTCSessionDescription,
)
from aiortc.exceptions import InternalError, OperationError

from backend.errors import BadOffer
from backend.media.clock import OnFault
from backend.transports.webrtc import aioice_sockets, aiortc_media
from backend.transports.webrtc.aioice_sockets import OnCheck
from backend.transports.webrtc.aiortc_media import NextPayload, OnLoss, OnPacket, take_over
from backend.transports.webrtc.ice import IceConfig

log = logging.getLogger(__name__)

CLOSE_WITHIN_S = 4.0
"""Seconds in which the connection must close before its sockets are closed by force."""
OPUS = re.compile(r"a=rtpmap:(\d+) opus/48000/2\r\n")
OPUS_WISHES = r"\g<0>a=fmtp:\1 minptime=10;useinbandfec=1;usedtx=1\r\n"
"""What our answer asks of the other side's encoder (RFC 7587, 7.1): redundancy in the packets, and pauses in silence;
mono is the default."""
SDP_FAULTS = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    AssertionError,
    RuntimeError,
    InternalError,
    InvalidAccessError,
    InvalidStateError,
    OperationError,
)
"""The errors that aiortc raises for unusable descriptions; it has no error class of its own for them."""

OnChannel = Callable[[RTCDataChannel], None]
"""Called on the event loop with a data channel that the other side has opened."""


class PeerState(StrEnum):
    """The state of a connection; CLOSED means closed by the other side."""

    NEW = "new"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    FAILED = "failed"
    CLOSED = "closed"


class AudioPeer:
    """One connection with one audio track each way."""

    def __init__(
        self,
        config: IceConfig,
        *,
        next_payload: NextPayload,
        on_packet: OnPacket,
        on_state: Callable[[PeerState], None],
        on_loss: OnLoss = lambda lost: None,
        on_fault: OnFault | None = None,
        on_check: OnCheck = lambda: None,
        on_channel: OnChannel | None = None,
        clocked: bool = False,
    ) -> None:
        """Open nothing yet. `clocked`: the sockets are read together with those of a server's other calls.

        `on_check` is called for each valid connectivity check of the other side, `on_channel` for each data channel
        that it opens.
        """
        servers = list(config.ice_servers)  # an empty list means none; aiortc's own default is a public one
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=servers))
        self._transceiver = self._connection.addTransceiver("audio", "sendrecv")
        codecs = RTCRtpSender.getCapabilities("audio").codecs
        self._transceiver.setCodecPreferences([codec for codec in codecs if codec.mimeType == "audio/opus"])
        self.sender = take_over(self._transceiver, on_packet, next_payload, on_loss, on_fault)
        self._ice = aiortc_media.ice_connection(self._transceiver)
        aioice_sockets.bind_within(self._ice, config.force_host, config.port_range, clocked=clocked)
        aioice_sockets.watch_checks(self._ice, on_check)
        self._on_state = on_state
        if on_channel is not None:
            self._connection.on("datachannel", on_channel)
        self._closing: asyncio.Task[None] | None = None
        self._connection.on("connectionstatechange", lambda: self._on_state(self.state))

    @property
    def state(self) -> PeerState:
        """The state of the connection."""
        return PeerState(self._connection.connectionState)

    async def answer(self, offer: str) -> str:
        """Return our answer to a sanitised offer, with all candidates. Raises `BadOffer` or `TooMany`."""
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            await self._connection.setLocalDescription()
        except SDP_FAULTS as error:
            raise BadOffer("The offer cannot be understood.") from error
        return OPUS.sub(OPUS_WISHES, self._connection.localDescription.sdp)

    async def offer(self) -> str:
        """Return an offer of ours, with all candidates."""
        await self._connection.setLocalDescription()
        return self._connection.localDescription.sdp

    async def accept(self, answer: str) -> None:
        """Take the other side's answer to our offer. Raises `BadOffer` if it is not an answer."""
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        except SDP_FAULTS as error:
            raise BadOffer("The answer cannot be understood.", hint="Is this the right server?") from error

    async def close(self) -> None:
        """Close the connection and release everything, within 5 s. Safe to call twice, and to cancel."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="close peer")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self._connection.close()
        except TimeoutError:
            log.warning("a peer did not close in %.0f s (%s); closing its sockets", CLOSE_WITHIN_S, self.state)
            aioice_sockets.abort(self._ice)
