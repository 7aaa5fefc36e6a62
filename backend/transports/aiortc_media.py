"""Reaching inside aiortc 1.16: our own decoder instead of its buffer and thread, our own encoder before its sender.

Everything that depends on aiortc's internals for media stands in this file, and `tests/transports/test_pins.py`
fails when a new aiortc changes what is relied on here:

- `RTCRtpReceiver.receive` starts a decoder thread, and `_handle_rtp_packet` feeds a jitter buffer that one lost
  packet stalls for 320 ms. `PacketReceiver` replaces both, and keeps the receiver's reports (RTCP) as they are.
- A transceiver's receiver is put in at construction; `take_packets` exchanges it before anything has started.
- A track may return encoded `av.Packet`s from `recv`; that is public, and `PacketTrack` does it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import Any

from aiortc import MediaStreamTrack, RTCRtpReceiver, RTCRtpTransceiver
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import RTCRtpReceiveParameters
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import RtpPacket
from av.packet import Packet

RTP_CLOCK = 48_000
"""Opus counts RTP time at 48 kHz, whatever rate it encodes (RFC 7587, 4.1)."""
SLOT_TICKS = RTP_CLOCK * 20 // 1000
"""RTP clock ticks in 20 ms."""
TIME_BASE = Fraction(1, RTP_CLOCK)

PacketHandler = Callable[[RtpPacket], None]
"""Called on the event loop for every audio packet, in the order of arrival."""
NextPacket = Callable[[], Awaitable[tuple[int, bytes]]]
"""Waits until a packet is due; gives its 20 ms slot, from 0, and its Opus payload."""


class PacketReceiver(RTCRtpReceiver):
    """An audio receiver that passes packets on as they come, with neither jitter buffer nor decoder thread."""

    def __init__(self, transport: RTCDtlsTransport, on_packet: PacketHandler) -> None:
        super().__init__("audio", transport)
        self._on_packet = on_packet
        self._payload_types: frozenset[int | None] = frozenset()
        self._source: int | None = None
        self._statistics: dict[int, StreamStatistics] = _inside(self, "remote_streams")

    async def receive(self, parameters: RTCRtpReceiveParameters) -> None:
        """Start: as the original, less the decoder thread."""
        if _inside(self, "started"):
            return
        self._payload_types = frozenset(codec.payloadType for codec in parameters.codecs)
        self.transport._register_rtp_receiver(self, parameters)
        _set_inside(self, "rtcp_task", asyncio.ensure_future(self._run_rtcp()))
        _set_inside(self, "started", True)

    async def _handle_rtp_packet(self, packet: RtpPacket, arrival_time_ms: int) -> None:
        if packet.payload_type not in self._payload_types or not self._enabled:
            return
        if packet.ssrc != self._source:
            self._source = packet.ssrc
            self._statistics.clear()  # one microphone at a time: a sender cannot make this grow
            self._statistics[packet.ssrc] = StreamStatistics(RTP_CLOCK)
        self._statistics[packet.ssrc].add(packet)
        self._on_packet(packet)


class PacketTrack(MediaStreamTrack):
    """An outgoing track of ready Opus packets. aiortc's sender asks, and so is paced, through `next_packet`."""

    kind = "audio"

    def __init__(self, next_packet: NextPacket) -> None:
        super().__init__()
        self._next_packet = next_packet

    async def recv(self) -> Packet[Any]:
        """The next packet, when it is due."""
        slot, payload = await self._next_packet()
        packet: Packet[Any] = Packet(payload)
        packet.pts = slot * SLOT_TICKS
        packet.time_base = TIME_BASE
        return packet


def take_packets(transceiver: RTCRtpTransceiver, on_packet: PacketHandler) -> None:
    """Let `on_packet` have what `transceiver` receives. Before any description is set."""
    receiver = PacketReceiver(transceiver.receiver.transport, on_packet)
    receiver._set_rtcp_ssrc(transceiver.sender._ssrc)
    vars(transceiver)["_RTCRtpTransceiver__receiver"] = receiver


def _inside(receiver: RTCRtpReceiver, name: str) -> Any:
    return vars(receiver)[f"_RTCRtpReceiver__{name}"]


def _set_inside(receiver: RTCRtpReceiver, name: str, value: object) -> None:
    key = f"_RTCRtpReceiver__{name}"
    assert key in vars(receiver), key
    vars(receiver)[key] = value
