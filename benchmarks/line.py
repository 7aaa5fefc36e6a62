"""A caller's media on an open call: every 20 ms one turn takes the arrived packets and sends the due one.

Theory. A hundred callers get and send 5,000 packets a second in each direction, on the core that the Responder needs as
well. Waking for each packet costs more than the packet. So the kernel records each arrival, and a late turn still knows
the moment to the microsecond. On loopback the server sent the datagram at that moment.

The two ends of a call may settle on different pairs of addresses (each takes the check that succeeded last). So a turn
reads the socket with media always, and the others every fifth time.

The connection is an `AudioPeer` like any other: ICE, DTLS and its keys are aiortc's, and so are the reports (RTCP).
Their counts are updated here twice a second. The work for each packet is in this file and reaches inside aiortc.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import Any, cast

from aiortc import clock
from pylibsrtp import Error

from backend.media.clock import current_media_clock
from backend.transports.webrtc.aiortc_media import REPORT_SLOTS, SLOT_TICKS, NextPayload
from backend.transports.webrtc.peer import AudioPeer
from backend.transports.webrtc.srtp import is_media, read_packet, write_packet
from benchmarks.drained import MOST_BYTES, SO_TIMESTAMPNS, DrainedSocket

ANCILLARY_BYTES = 64
MOMENT = Struct("@ll")
"""`struct timespec`: seconds and nanoseconds of the wall clock."""
DRY_EVERY = 5
"""Turns after which all datagrams are taken; in other turns it is one, since one arrives in each."""

Ancillary = list[tuple[int, int, bytes]]
KeepPacket = Callable[[bytes, float], None]
"""Takes a decrypted RTP packet, and its arrival on the steady clock."""


class Line:
    """Lives from the connection of a call until `leave`."""

    @classmethod
    async def take_over(cls, peer: AudioPeer, next_payload: NextPayload, keep: KeepPacket) -> Line:
        """Takes over `peer`'s own sender and receiver, once it is connected."""
        sender: Any = peer.sender
        await sender._RTCRtpSender__rtp_started.wait()
        return cls(peer, next_payload, keep)

    def __init__(self, peer: AudioPeer, next_payload: NextPayload, keep: KeepPacket) -> None:
        """See `take_over`."""
        sender: Any = peer.sender
        self._sender = sender
        self._receiver: Any = peer._transceiver.receiver
        self._next_payload, self._keep = next_payload, keep
        slot = sender.slot
        slot.leave()
        pair: Any = peer._ice._nominated[1]
        self._sockets = [_unwatched(pair.protocol)]
        self._sockets += [_unwatched(each) for each in peer._ice._protocols if each is not pair.protocol]
        self._out = self._sockets[0].socket
        self._to = pair.remote_addr
        self._cover, self._uncover = sender.transport._tx_srtp, sender.transport._rx_srtp
        self._sequence = sender._sequence
        self._origin = sender._origin + (slot.phase._number - (slot._first or 0) + 1) * SLOT_TICKS
        self._clock_ahead = 0.0
        self._newest = b""
        self._received = self._sent = self._sent_bytes = 0
        self._slot = current_media_clock().join(self._turn)

    def __repr__(self) -> str:
        return f"Line({self._slot})"

    def leave(self) -> None:
        """No more turns. Safe to call twice."""
        self._slot.leave()

    def _turn(self, slot: int) -> None:
        if self._out.fileno() < 0:
            self.leave()
            return
        if slot % DRY_EVERY:
            self._receive(self._sockets[0], until_dry=False)
        else:
            self._clock_ahead = time.time() - time.monotonic()
            self._receive_from_all()
        self._send(slot)
        if slot % REPORT_SLOTS == 0:
            self._report(slot)

    def _receive_from_all(self) -> None:
        for each in list(self._sockets):
            if self._receive(each, until_dry=True) and each is not self._sockets[0]:
                self._sockets.remove(each)
                self._sockets.insert(0, each)

    def _receive(self, drained: DrainedSocket, *, until_dry: bool) -> bool:
        """Read; returns whether media came."""
        media = False
        while True:
            try:
                data, ancillary, _, address = drained.socket.recvmsg(MOST_BYTES, ANCILLARY_BYTES)
            except OSError:
                return media  # nothing there, or the server is gone: ICE finds out
            if not is_media(data):
                drained.protocol.datagram_received(data, address)
                continue
            media = True
            with suppress(Error):  # of a packet that is repeated or forged
                self._newest = self._uncover.unprotect(data)
                self._received += 1
                self._keep(self._newest, moment(ancillary, self._clock_ahead))
            if not until_dry:
                return media

    def _send(self, slot: int) -> None:
        payload = self._next_payload()
        if not payload:
            return
        timestamp = (self._origin + slot * SLOT_TICKS) & 0xFFFFFFFF
        packet = write_packet(self._sender._payload_type, self._sequence, timestamp, self._sender._ssrc, payload)
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._sent += 1
        self._sent_bytes += len(payload)
        try:
            self._out.sendto(self._cover.protect(packet), self._to)
        except OSError:
            return  # a full socket loses it, as the network would

    def _report(self, slot: int) -> None:
        """Bring up to date the counts behind aiortc's reports."""
        sender = self._sender
        sender._RTCRtpSender__packet_count += self._sent
        sender._RTCRtpSender__octet_count += self._sent_bytes
        sender._RTCRtpSender__ntp_timestamp = clock.current_ntp_time()
        sender._RTCRtpSender__rtp_timestamp = (self._origin + slot * SLOT_TICKS) & 0xFFFFFFFF
        newest = read_packet(self._newest)
        if newest is not None:
            self._receiver._receive_packet(newest)
            self._receiver._counted.packets_received += self._received - 1
        self._newest = b""
        self._received = self._sent = self._sent_bytes = 0


def _unwatched(protocol: Any) -> DrainedSocket:
    drained = protocol.transport
    assert isinstance(drained, DrainedSocket)
    drained.unwatch()
    return drained


def moment(ancillary: Ancillary, clock_ahead: float) -> float:
    """The arrival of a datagram on the steady clock; now, if the kernel does not report it.

    `clock_ahead`: seconds by which the wall clock, which the kernel uses, is ahead of the steady one.
    """
    if not ancillary or ancillary[0][1] != SO_TIMESTAMPNS:
        return time.monotonic()
    seconds, nanoseconds = MOMENT.unpack_from(ancillary[0][2])
    return cast(float, seconds + nanoseconds * 1e-9 - clock_ahead)
