"""RTP packets and their SRTP protection.

Of headers (RFC 3550, 5.1) only the fields that a call needs are read, and only the fixed part is written.
"""

from struct import Struct
from typing import NamedTuple

from pylibsrtp import Error, Session

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


def unprotect(session: Session, data: bytes) -> Packet | None:
    """Return the packet in `data`; None if it is repeated, too old, too long, made without the key, or no RTP."""
    try:
        return read_packet(session.unprotect(data))
    except (Error, ValueError):
        return None


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
