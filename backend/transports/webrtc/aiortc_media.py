"""Reaching inside aiortc 1.16: audio packets past its decoder, its encoder and its per-packet machinery.

Everything that depends on aiortc's internals for media stands in this file, and `tests/transports/test_pins.py` fails
when a new aiortc changes what is relied on here. aiortc keeps what happens once or once a second: descriptions, ICE,
DTLS and its keys, and the reports (RTCP) both ways. Fifty times a second, both ways, there is only this:

- *in*: `Connection.data_received` of aioice, which would queue a datagram for a task, is replaced on the instance. RTP
  is taken there, at once: SRTP off, header read, counted for the reports, handed on. All else goes the stock way.
- *out*: `RTCRtpSender._run_rtp`, which would ask a track for a frame, joins the common clock instead (`beat`). When a
  slot is due: ask for its payload, write the header, SRTP on, into the socket of the pair that ICE has chosen.

A transceiver's receiver and sender are put in at construction; `take_over` exchanges them before anything has started.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aiortc import RTCRtpReceiver, RTCRtpSender, RTCRtpTransceiver, clock
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcdtlstransport import State as DtlsState
from aiortc.rtcrtpparameters import RTCRtpCodecParameters, RTCRtpReceiveParameters
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import AnyRtcpPacket, RtcpRrPacket, RtcpSrPacket, RtpPacket
from aiortc.utils import random16, random32

from backend.media.clock import Slot, current_media_clock
from backend.media.opus import EMPTY_BYTES
from backend.media.rtp import MARKER, Packet, is_media, read_packet, write_packet
from backend.transports.webrtc.srtp import Protection

log = logging.getLogger(__name__)

RTP_CLOCK = 48_000
"""Opus counts RTP time at 48 kHz, whatever rate it encodes (RFC 7587, 4.1)."""
SLOT_TICKS = RTP_CLOCK * 20 // 1000
"""RTP clock ticks in 20 ms."""
REPORT_SLOTS = 25
"""How often (0.5 s) the sender's report learns what was sent, and which wall clock time its timestamps stand for."""

PacketHandler = Callable[[Packet], None]
"""Called on the event loop for every audio packet, in the order of arrival."""
NextPayload = Callable[[], bytes]
"""Called on the event loop when a slot is due: the Opus payload of the next 20 ms; empty when nothing is to be sent."""
LossHandler = Callable[[float], None]
"""Called on the event loop when the other side reports: the share (0 to 1) of our packets lost since it last did."""


class PacketReceiver(RTCRtpReceiver):
    """An audio receiver that passes packets on as they come, with neither jitter buffer nor decoder thread."""

    def __init__(self, transport: RTCDtlsTransport, on_packet: PacketHandler) -> None:
        super().__init__("audio", transport)
        self._on_packet = on_packet
        self._payload_types: frozenset[int | None] = frozenset()
        self._source: int | None = None
        self._statistics: dict[int, StreamStatistics] = _inside(self, RTCRtpReceiver, "remote_streams")
        self._counted: Any = StreamStatistics(RTP_CLOCK)  # of a packet it reads sequence number and timestamp alone

    async def receive(self, parameters: RTCRtpReceiveParameters) -> None:
        """Start: as the original, less the decoder thread, and with packets taken where they arrive."""
        if _inside(self, RTCRtpReceiver, "started"):
            return
        self._payload_types = frozenset(codec.payloadType for codec in parameters.codecs)
        self.transport._register_rtp_receiver(self, parameters)
        _set_inside(self, RTCRtpReceiver, "rtcp_task", asyncio.ensure_future(self._run_rtcp()))
        _set_inside(self, RTCRtpReceiver, "started", True)
        self._protection = Protection(self.transport._rx_srtp)
        connection = self.transport.transport._connection
        self._stock_data_received = connection.data_received
        vars(connection)["data_received"] = self._take_datagram

    async def _handle_rtp_packet(self, packet: RtpPacket, arrival_time_ms: int) -> None:
        """The stock way in, for what was queued before `receive`."""
        self._take(Packet(packet.payload_type, packet.sequence_number, packet.timestamp, packet.ssrc, packet.payload))

    def _take_datagram(self, data: bytes, component: int) -> None:
        if not is_media(data):
            self._stock_data_received(data, component)
            return
        plain = self._protection.take_off(data)
        if plain is not None and (packet := read_packet(plain)) is not None:
            self._take(packet)

    def _take(self, packet: Packet) -> None:
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
        self, transport: RTCDtlsTransport, next_payload: NextPayload, on_loss: LossHandler = lambda lost: None
    ) -> None:
        super().__init__("audio", transport)
        self.packets = 0
        """Sent so far."""
        self._octets = 0
        self._dtls = transport
        self._next_payload = next_payload
        self._on_loss = on_loss
        self._place: Slot | None = None
        self._payload_type = 0
        self._marker = 0
        self._sequence = random16() % 32768  # see aiortc's own `random_sequence_number`
        self._origin = random32()
        self._pairs: dict[int, Any] = {}  # aioice's own: those that ICE has chosen, by component
        self._pair: Any = None
        self._address = ("", 0)

    @property
    def skipped(self) -> int:
        """Slots left out after a stall."""
        return self._place.skipped if self._place else 0

    @property
    def worst_gap_ms(self) -> float:
        """The longest time between two slots."""
        return self._place.worst_gap_ms if self._place else 0.0

    async def _run_rtp(self, codec: RTCRtpCodecParameters) -> None:
        """As the original: until cancelled, saying when it began and when it has ended."""
        assert codec.payloadType is not None
        self._payload_type = codec.payloadType
        self._protection = Protection(self._dtls._tx_srtp)
        self._pairs = self._dtls.transport._connection._nominated
        self._place = current_media_clock().join(self._play)
        _inside(self, RTCRtpSender, "rtp_started").set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            pass  # this is how `stop` ends it, and waits for the next line
        finally:
            self._place.leave()
            _inside(self, RTCRtpSender, "rtp_exited").set()

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        """As the original; and tell what the other side has lost."""
        await super()._handle_rtcp_packet(packet)
        if isinstance(packet, RtcpRrPacket | RtcpSrPacket):
            for report in packet.reports:
                if report.ssrc == self._ssrc:
                    self._on_loss(report.fraction_lost / 256)

    def _play(self, slot: int) -> None:
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
        self.packets += 1
        self._octets += len(payload)
        self._send(self._protection.put_on(packet))

    def _send(self, data: bytes) -> None:
        pair = self._pairs.get(1)
        if pair is None:
            return  # ICE has lost it, and says so itself
        if pair is not self._pair:
            self._pair, self._address = pair, pair.remote_addr
        pair.protocol.transport.sendto(data, self._address)

    def _prepare_report(self, timestamp: int) -> None:
        for name, value in (
            ("packet_count", self.packets),
            ("octet_count", self._octets),
            ("ntp_timestamp", clock.current_ntp_time()),
            ("rtp_timestamp", timestamp),
        ):
            _set_inside(self, RTCRtpSender, name, value)


def take_over(
    transceiver: RTCRtpTransceiver,
    on_packet: PacketHandler,
    next_payload: NextPayload,
    on_loss: LossHandler = lambda lost: None,
) -> PacketSender:
    """Let `on_packet` have what `transceiver` receives, and `next_payload` fill what it sends.

    Before any description is set. Returns the sender, which knows how punctual it is.
    """
    stock, transport = transceiver.sender, transceiver.sender.transport
    sender = PacketSender(transport, next_payload, on_loss)
    sender._stream_id = stock._stream_id
    receiver = PacketReceiver(transport, on_packet)
    receiver._set_rtcp_ssrc(sender._ssrc)
    for name, part in (("receiver", receiver), ("sender", sender)):
        _set_inside(transceiver, RTCRtpTransceiver, name, part)
    return sender


def _inside(part: object, owner: type, name: str) -> Any:
    return vars(part)[f"_{owner.__name__}__{name}"]


def _set_inside(part: object, owner: type, name: str, value: object) -> None:
    key = f"_{owner.__name__}__{name}"
    assert key in vars(part), key
    vars(part)[key] = value
