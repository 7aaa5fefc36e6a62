"""RTP packets (RFC 3550, 5.1): read with what the corridor needs of them, written with the fixed header alone. Pure."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

_FIXED = Struct(">BBHII")
"""Version, padding, extension and CSRC count; marker and payload type; sequence; timestamp; SSRC."""
HEADER_BYTES = _FIXED.size
VERSION_2 = 0x80
MARKER = 0x80
_PADDED, _EXTENDED, _SOURCES, _PAYLOAD_TYPE = 0x20, 0x10, 0x0F, 0x7F


class Packet(NamedTuple):
    """One packet in. Sequence numbers have 16 bits, timestamps and sources (SSRC) 32."""

    payload_type: int
    sequence_number: int
    timestamp: int
    ssrc: int
    payload: bytes


def is_media(data: bytes) -> bool:
    """Whether a datagram of a multiplexed socket is RTP: neither STUN, DTLS (RFC 7983) nor RTCP (RFC 5761, 4)."""
    return len(data) >= HEADER_BYTES and VERSION_2 <= data[0] < 0xC0 and not 192 <= data[1] <= 223


def read_packet(data: bytes) -> Packet | None:
    """A packet without its protection; None for what is none."""
    if len(data) < HEADER_BYTES or data[0] & 0xC0 != VERSION_2:
        return None
    bits, kind, sequence, timestamp, source = _FIXED.unpack_from(data)
    if bits == VERSION_2:
        return Packet(kind & _PAYLOAD_TYPE, sequence, timestamp, source, data[HEADER_BYTES:])
    payload = _payload(data, bits)
    return None if payload is None else Packet(kind & _PAYLOAD_TYPE, sequence, timestamp, source, payload)


def write_packet(payload_type: int, sequence: int, timestamp: int, source: int, payload: bytes) -> bytes:
    """A packet out. The marker belongs in the first after a pause (RFC 7587, 4.2): add `MARKER` to its payload type."""
    return _FIXED.pack(VERSION_2, payload_type, sequence, timestamp, source) + payload


def _payload(data: bytes, bits: int) -> bytes | None:
    """What is between contributing sources and header extensions in front, and padding behind."""
    begin, end = HEADER_BYTES + 4 * (bits & _SOURCES), len(data)
    if bits & _EXTENDED:
        if end < begin + 4:
            return None
        begin += 4 + 4 * int.from_bytes(data[begin + 2 : begin + 4])
    if bits & _PADDED:
        end -= data[-1]
    return data[begin:end] if begin <= end and not (bits & _PADDED and data[-1] == 0) else None
