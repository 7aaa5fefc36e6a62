"""Audio packets through aiortc 1.16, past its decoder, its encoder and its per-packet machinery.

This is the one file that reaches inside aiortc. aiortc keeps the work that is done once or once a second: descriptions,
ICE, DTLS and its keys, and the reports (RTCP) both ways. Fifty times a second, both ways, this file does the rest:

- *in*: a datagram that aioice would queue for a task is taken when it is read. For RTP the SRTP protection is removed
  and the header read; the packet is counted for the reports and passed on. All else goes aiortc's own way.
- *out*: `RTCRtpSender._run_rtp`, which would ask a track for a frame, joins the media clock instead. When a slot is
  due, its payload gets a header and protection, and is sent through the candidate pair that ICE has chosen.

aiortc makes a transceiver's receiver and sender at construction; `take_over` replaces them before they start. If aiortc
changes what is used here, calls connect and stay silent, or do not connect: `tests/test_library_pins.py` fails first.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aioice import Connection
from aiortc import RTCRtpReceiver, RTCRtpSender, RTCRtpTransceiver, clock
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcdtlstransport import State as DtlsState
from aiortc.rtcrtpparameters import RTCRtpCodecParameters, RTCRtpReceiveParameters
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import AnyRtcpPacket, RtcpRrPacket, RtcpSrPacket
from aiortc.utils import random16, random32

from backend.media.clock import MediaSlot, OnFault, current_media_clock
from backend.media.opus import EMPTY_BYTES
from backend.transports.webrtc.aioice_sockets import MediaPath, intercept_data
from backend.transports.webrtc.srtp import MARKER, Packet, is_media, unprotect, write_packet

log = logging.getLogger(__name__)

RTP_CLOCK = 48_000
"""Timestamps a second of Opus over RTP, whatever rate it encodes (RFC 7587, 4.1)."""
SLOT_TICKS = RTP_CLOCK * 20 // 1000
"""RTP clock ticks in 20 ms."""
REPORT_SLOTS = 25
"""The slots (0.5 s) after which the sender's report gets its counts, and the wall clock time of its timestamps."""

OnPacket = Callable[[Packet], None]
"""Called on the event loop for every audio packet, in the order of arrival."""
NextPayload = Callable[[], bytes]
"""Called on the event loop when a slot is due: the Opus payload of the next 20 ms; empty when nothing is to be sent."""
OnLoss = Callable[[float], None]
"""Called on the event loop with the share (0 to 1) of our packets that the other side lost since its last report."""


class PacketReceiver(RTCRtpReceiver):
    """An audio receiver that passes packets on as they come, with neither jitter buffer nor decoder thread."""

    def __init__(self, transport: RTCDtlsTransport, on_packet: OnPacket) -> None:
        super().__init__("audio", transport)
        self._on_packet = on_packet
        self._payload_types: frozenset[int | None] = frozenset()
        self._source: int | None = None
        self._statistics: dict[int, StreamStatistics] = _inside(self, RTCRtpReceiver, "remote_streams")
        self._counted: Any = StreamStatistics(RTP_CLOCK)  # it reads only a packet's sequence number and timestamp

    async def receive(self, parameters: RTCRtpReceiveParameters) -> None:
        """Start as aiortc does, but without the decoder thread, and take packets where they arrive."""
        if _inside(self, RTCRtpReceiver, "started"):
            return
        self._payload_types = frozenset(codec.payloadType for codec in parameters.codecs)
        self.transport._register_rtp_receiver(self, parameters)
        _set_inside(self, RTCRtpReceiver, "rtcp_task", asyncio.ensure_future(self._run_rtcp()))
        _set_inside(self, RTCRtpReceiver, "started", True)
        self._srtp = self.transport._rx_srtp
        self._stock_on_data = intercept_data(self.transport.transport._connection, self._on_data)

    def _on_data(self, data: bytes, component: int) -> None:
        if not is_media(data):
            self._stock_on_data(data, component)
            return
        packet = unprotect(self._srtp, data)
        if packet is not None:
            self._receive_packet(packet)

    def _receive_packet(self, packet: Packet) -> None:
        if packet.payload_type not in self._payload_types or not self._enabled:
            return
        if packet.ssrc != self._source:
            self._source = packet.ssrc
            self._counted = StreamStatistics(RTP_CLOCK)
            self._statistics.clear()  # one microphone at a time: a sender cannot make this grow
            self._statistics[packet.ssrc] = self._counted
        self._counted.add(packet)
        self._on_packet(packet)


class PacketSender(RTCRtpSender):
    """An audio sender of ready Opus payloads, at most one each 20 ms while the connection stands."""

    def __init__(
        self, transport: RTCDtlsTransport, next_payload: NextPayload, on_loss: OnLoss, on_fault: OnFault | None
    ) -> None:
        super().__init__("audio", transport)
        self._packets = 0
        self._octets = 0
        self._dtls = transport
        self._next_payload = next_payload
        self._on_loss = on_loss
        self._on_fault = on_fault
        self.slot: MediaSlot | None = None
        """The slot of the media clock; None before the connection stands."""
        self._payload_type = 0
        self._marker = 0
        self._sequence = random16() % 32768  # see aiortc's own `random_sequence_number`
        self._origin = random32()

    async def _run_rtp(self, codec: RTCRtpCodecParameters) -> None:
        """Run until cancelled, and announce the beginning and the end as aiortc does."""
        assert codec.payloadType is not None
        self._payload_type = codec.payloadType
        self._srtp = self._dtls._tx_srtp
        self._path = MediaPath(self._dtls.transport._connection)
        self.slot = current_media_clock().join(self._on_slot, self._on_fault)
        _inside(self, RTCRtpSender, "rtp_started").set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            pass  # `stop` cancels this task, and waits for `rtp_exited`
        finally:
            self.slot.leave()
            _inside(self, RTCRtpSender, "rtp_exited").set()

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        """Handle reports as aiortc does, and pass on what the other side has lost."""
        await super()._handle_rtcp_packet(packet)
        if isinstance(packet, RtcpRrPacket | RtcpSrPacket):
            for report in packet.reports:
                if report.ssrc == self._ssrc:
                    self._on_loss(report.fraction_lost / 256)

    def _on_slot(self, slot: int) -> None:
        if self._dtls._state is not DtlsState.CONNECTED:
            return
        payload = self._next_payload()
        timestamp = (self._origin + slot * SLOT_TICKS) & 0xFFFFFFFF
        if slot % REPORT_SLOTS == 0:
            self._prepare_report(timestamp)
        if not payload:
            return
        kind = self._payload_type | self._marker
        packet = write_packet(kind, self._sequence, timestamp, self._ssrc, payload)
        self._marker = MARKER if len(payload) <= EMPTY_BYTES else 0
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._packets += 1
        self._octets += len(payload)
        self._path.send(self._srtp.protect(packet))

    def _prepare_report(self, timestamp: int) -> None:
        for name, value in (
            ("packet_count", self._packets),
            ("octet_count", self._octets),
            ("ntp_timestamp", clock.current_ntp_time()),
            ("rtp_timestamp", timestamp),
        ):
            _set_inside(self, RTCRtpSender, name, value)


def take_over(
    transceiver: RTCRtpTransceiver,
    on_packet: OnPacket,
    next_payload: NextPayload,
    on_loss: OnLoss = lambda lost: None,
    on_fault: OnFault | None = None,
) -> PacketSender:
    """Pass what `transceiver` receives to `on_packet`, and let `next_payload` make what it sends.

    Call this before any description is set. `on_fault` gets an exception of a slot, which ends the sending.
    """
    transport = transceiver.sender.transport
    sender = PacketSender(transport, next_payload, on_loss, on_fault)
    receiver = PacketReceiver(transport, on_packet)
    receiver._set_rtcp_ssrc(sender._ssrc)
    for name, part in (("receiver", receiver), ("sender", sender)):
        _set_inside(transceiver, RTCRtpTransceiver, name, part)
    return sender


def ice_connection(transceiver: RTCRtpTransceiver) -> Connection:
    """Return the aioice connection under `transceiver`."""
    return transceiver.receiver.transport.transport._connection


def _inside(part: object, owner: type, name: str) -> Any:
    return vars(part)[f"_{owner.__name__}__{name}"]


def _set_inside(part: object, owner: type, name: str, value: object) -> None:
    key = f"_{owner.__name__}__{name}"
    assert key in vars(part), key
    vars(part)[key] = value
