"""RTP packets under SRTP protection, with fewer steps than pylibsrtp's wrapper takes.

This is the one file that reaches inside pylibsrtp 1.0, which allocates a new length for each packet, looks the function
up, and raises for each refused packet. `Protection` uses its binding (`pylibsrtp._binding`, `Session._srtp`, `_cdata`,
`_buffer`) with the session's own buffer. If one of these changes, no packet can be protected and every call is silent:
`tests/test_library_pins.py` fails first. Of headers (RFC 3550, 5.1) only the fields that a call needs are read, and
only the fixed part is written.
"""

from struct import Struct
from typing import NamedTuple

from pylibsrtp import SRTP_MAX_TRAILER_LEN, Error, Session
from pylibsrtp._binding import ffi, lib  # type: ignore[import-not-found]  # compiled, without types

_FIXED = Struct(">BBHII")
"""Version, padding, extension and CSRC count; marker and payload type; sequence; timestamp; SSRC."""
HEADER_BYTES = _FIXED.size
VERSION_2 = 0x80
MARKER = 0x80
_PADDED, _EXTENDED, _SOURCES, _PAYLOAD_TYPE = 0x20, 0x10, 0x0F, 0x7F


class Packet(NamedTuple):
    """One received packet. Sequence numbers have 16 bits, timestamps and sources (SSRC) 32."""

    payload_type: int
    sequence_number: int
    timestamp: int
    ssrc: int
    payload: bytes


def is_media(data: bytes) -> bool:
    """Return whether a multiplexed datagram is RTP: neither STUN, DTLS (RFC 7983) nor RTCP (RFC 5761, 4)."""
    return len(data) >= HEADER_BYTES and VERSION_2 <= data[0] < 0xC0 and not 192 <= data[1] <= 223


def read_packet(data: bytes) -> Packet | None:
    """Return the packet in unprotected `data`; None if it is not an RTP packet."""
    if len(data) < HEADER_BYTES or data[0] & 0xC0 != VERSION_2:
        return None
    bits, kind, sequence, timestamp, source = _FIXED.unpack_from(data)
    if bits == VERSION_2:
        return Packet(kind & _PAYLOAD_TYPE, sequence, timestamp, source, data[HEADER_BYTES:])
    payload = _payload(data, bits)
    return None if payload is None else Packet(kind & _PAYLOAD_TYPE, sequence, timestamp, source, payload)


def write_packet(payload_type: int, sequence: int, timestamp: int, source: int, payload: bytes) -> bytes:
    """Return a packet to send. For the first after a pause (RFC 7587, 4.2), add `MARKER` to the payload type."""
    return _FIXED.pack(VERSION_2, payload_type, sequence, timestamp, source) + payload


class Protection:
    """The protection of one direction's packets with the keys of `session`."""

    def __init__(self, session: Session) -> None:
        self._session = session  # owns the handle and the buffer
        self._handle = session._srtp[0]
        self._room, self._packet = session._cdata, session._buffer
        self._limit = len(session._cdata)
        self._length = ffi.new("int *")
        self._protect, self._unprotect = lib.srtp_protect, lib.srtp_unprotect

    def protect(self, packet: bytes) -> bytes:
        """Return the protected form of an RTP packet. Raises `pylibsrtp.Error`."""
        size = len(packet)
        if size > self._limit - SRTP_MAX_TRAILER_LEN:
            raise Error("packet is too long")
        self._packet[0:size] = packet
        self._length[0] = size
        if code := self._protect(self._handle, self._room, self._length):
            raise Error(f"libsrtp refused a packet: {code}")
        protected: bytes = self._packet[0 : self._length[0]]
        return protected

    def unprotect(self, data: bytes) -> bytes | None:
        """Return the RTP packet in `data`; None if it is repeated, too old, too long, or made without the key."""
        size = len(data)
        if size > self._limit:
            return None
        self._packet[0:size] = data
        self._length[0] = size
        if self._unprotect(self._handle, self._room, self._length):
            return None
        packet: bytes = self._packet[0 : self._length[0]]
        return packet


def _payload(data: bytes, bits: int) -> bytes | None:
    """Return the payload between the header extensions in front and the padding behind."""
    begin, end = HEADER_BYTES + 4 * (bits & _SOURCES), len(data)
    if bits & _EXTENDED:
        if end < begin + 4:
            return None
        begin += 4 + 4 * int.from_bytes(data[begin + 2 : begin + 4])
    if bits & _PADDED:
        end -= data[-1]
    # A header may claim more than the packet has, and padding of no bytes is none.
    return data[begin:end] if begin <= end and not (bits & _PADDED and data[-1] == 0) else None
