"""Keys of the telephone in RTP packets (RFC 4733), pure."""

import struct
from collections.abc import Iterator

from backend.transports.webrtc.srtp import Packet

EVENTS = "0123456789*#ABCD"
"""The keys by their event codes (RFC 4733, 3.2)."""
KEY_SLOTS, GAP_SLOTS = 6, 4
"""The lengths of a sent key and of the pause after it, in slots of 20 ms."""
ENDINGS = 3
"""The number of packets with a key's end, since one may get lost."""
VOLUME = 10
"""The level of a sent key: 10 stands for -10 dBm0."""
_EVENT = struct.Struct("!BBH")


class KeyReader:
    """Finds the keys in a stream of events; each counts once, at its first packet to arrive."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def read(self, packet: Packet) -> str | None:
        """Return the key that begins with this packet; None if none does."""
        if len(packet.payload) < 4:
            return None
        code = packet.payload[0]
        this = (packet.ssrc, packet.timestamp)
        if code >= len(EVENTS) or this == self._last:
            return None
        self._last = this
        return EVENTS[code]


def key_payloads(key: str, step: int) -> Iterator[list[bytes]]:
    """Yield the payloads of a key for each slot, and none for the pause after it; `step`: timestamps per slot."""
    for slot in range(1, KEY_SLOTS):
        yield [_EVENT.pack(EVENTS.index(key), VOLUME, slot * step)]
    yield [_EVENT.pack(EVENTS.index(key), 0x80 | VOLUME, KEY_SLOTS * step)] * ENDINGS
    yield from ([] for _ in range(GAP_SLOTS))
