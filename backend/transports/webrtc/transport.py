"""The WebRTC transport of a browser's call, with the media handled in this server from the packet up.

In: packets → `ReceivePipeline` (order, decode, conceal, silence) → `ReceiveQueue` → the call. Out: `Playout` →
`SendPipeline` (Opus) → a packet every 20 ms, or a pause. Frames are pulled when they are due and never before, so that
`hold`, `resume`, `duck` and `flush` act on the very next one: behind the playout only the encoder's look-ahead of 6 ms
is queued. A pause (DTX) ends with the first frame that sounds.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TypeVar

from backend.errors import MediaFailed, NeverConnected, TransportLost, VoiceError
from backend.media.clock import current_media_clock
from backend.media.receive import ReceivePipeline
from backend.media.send import SendPipeline
from backend.runtime.timer import Alarm
from backend.transports.base import BufferedTransport
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.offer import asks_for_pauses, sanitise_offer
from backend.transports.webrtc.peer import AudioPeer, OnChannel, PeerState
from backend.transports.webrtc.srtp import Packet

log = logging.getLogger(__name__)

Answering = TypeVar("Answering", bound="WebRTCTransport")


async def accept_offer(sdp: str, config: IceConfig) -> tuple[str, WebRTCTransport]:
    """Answer a caller's offer; return the SDP answer and the transport of the call that now begins.

    Raises `BadOffer` for an offer that cannot be answered, `TooMany` if no port is left; then nothing stays open.
    """
    return await answer_with(WebRTCTransport(config), sanitise_offer(sdp))


async def answer_with(transport: Answering, offer: str) -> tuple[str, Answering]:
    """Return the answer to a sanitised offer, and the transport, which is closed if there is no answer."""
    try:
        answer = await transport.answer(offer)
    except BaseException:
        await transport.close()
        raise
    return answer, transport


class WebRTCTransport(BufferedTransport):
    """The WebRTC `Transport` of one call, which `accept_offer` makes."""

    def __init__(self, config: IceConfig, on_channel: OnChannel | None = None) -> None:
        """`on_channel` is called for each data channel that the caller opens."""
        super().__init__()
        self._config = config
        self._receiving: ReceivePipeline | None = None
        self._sending = SendPipeline(self._playout)
        self._alarm = Alarm(self._on_alarm)
        self._now = asyncio.get_running_loop().time
        self._clock = current_media_clock()
        self._peer = AudioPeer(
            config,
            next_payload=self._next_payload,
            on_packet=self._on_packet,
            on_state=self._on_state,
            on_loss=self._on_loss,
            on_fault=self._fail,
            on_check=self._arrive,
            on_channel=on_channel,
            clocked=True,
        )

    async def answer(self, offer: str) -> str:
        """Answer a sanitised offer; from now on the caller has `connect_within_s` to connect."""
        answer = await self._peer.answer(offer)
        self._sending.pauses = asks_for_pauses(offer)
        self._alarm.set(self._now() + self._config.connect_within_s)
        return answer

    async def close(self) -> None:
        self._queue.close()
        self._alarm.stop()
        await self._peer.close()
        self._sending.close()
        if self._receiving is not None:
            self._receiving.close()

    def _arrive(self) -> None:
        """Note that the caller is there: each of its connectivity checks shows it."""
        self._queue.arrive()

    def _next_payload(self) -> bytes:
        """Return the payload of the slot that is due, and enqueue frames for the caller's missing packets."""
        receiving, read_all_at = self._receiving, self._clock.read_all_at  # what waits in the kernel is not missing
        if receiving is not None and receiving.due <= read_all_at:
            self._queue.enqueue(receiving.expire(read_all_at))
        return self._sending.next()

    def _on_packet(self, packet: Packet) -> None:
        if self._receiving is None or self._queue.ended:
            return
        _, sequence, timestamp, source, payload = packet
        try:
            self._queue.enqueue(self._receiving.receive(source, sequence, timestamp, payload, self._now()))
        except Exception as error:
            log.exception("a call's microphone could not be decoded")
            self._fail(error)

    def _on_loss(self, lost: float) -> None:
        if self._queue.ended:
            return
        try:
            self._sending.on_loss(lost)
        except Exception as error:
            log.exception("a call's encoder could not be set")
            self._fail(error)

    def _on_state(self, state: PeerState) -> None:
        if self._queue.ended:
            return
        match state:
            case PeerState.CONNECTED:
                self._arrive()
                self._receiving = ReceivePipeline(self._now(), lost_after_s=self._config.lost_after_s)
                self._alarm.set(self._receiving.lost_at)
            case PeerState.FAILED:
                self._end(self._lost("The connection to the caller failed."))
            case PeerState.CLOSED:
                self._end(None)

    def _on_alarm(self) -> None:
        """End the call if the caller did not connect in time or sends nothing more; otherwise set the alarm again."""
        if self._receiving is None:
            self._end(self._lost("The caller did not connect in time."))
        elif self._receiving.lost_at <= self._now():
            self._end(self._lost("The caller sends nothing more."))
        else:
            self._alarm.set(self._receiving.lost_at)

    def _lost(self, why: str) -> TransportLost:
        return TransportLost(why) if self._receiving is not None else NeverConnected(why)

    def _fail(self, error: Exception) -> None:
        """End the call after a fault in a slot or a decoder, which would leave it silent in one direction."""
        self._end(MediaFailed(f"This call's audio failed ({type(error).__name__})."))

    def _end(self, error: VoiceError | None) -> None:
        self._queue.end(error)
        self._alarm.stop()
