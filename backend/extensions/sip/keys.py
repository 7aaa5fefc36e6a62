"""Keys of the telephone in RTP packets (RFC 4733), pure."""

from __future__ import annotations

from backend.transports.webrtc.srtp import Packet

EVENTS = "0123456789*#ABCD"
"""The keys by their event codes (RFC 4733, 3.2)."""


class KeyReader:
    """Finds the keys in a stream of events; each counts once, at its first packet to arrive."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def read(self, packet: Packet) -> str | None:
        """Return the key that this packet begins; None where it goes on or ends, or is no key."""
        if len(packet.payload) < 4:
            return None
        code = packet.payload[0]
        this = (packet.ssrc, packet.timestamp)
        if code >= len(EVENTS) or this == self._last:
            return None
        self._last = this
        return EVENTS[code]
