"""Keys of the telephone in RTP packets (RFC 4733), pure."""

from __future__ import annotations

import struct
from collections import deque

from backend.media.frame import FRAME_MS
from backend.transports.phone_line import KEYS
from backend.transports.webrtc.srtp import Packet

EVENTS = "0123456789*#ABCD"
"""The keys by their event codes (RFC 4733, 3.2)."""
KEY_MS, GAP_MS = 120, 80
"""How long a key of ours sounds, and the pause after it."""
ENDINGS = 3
"""Times the end of a key is sent, since one may get lost."""
VOLUME = 10
"""-10 dBm0."""
_EVENT = struct.Struct("!BBH")


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


class KeyWriter:
    """Keys of ours on their way out, a payload a slot; while one is pressed, and in the pauses, no sound is sent."""

    def __init__(self, clock: int) -> None:
        """`clock`: timestamps a second."""
        self._step = clock * FRAME_MS // 1000
        self._waiting: deque[str] = deque()
        self._code = 0
        self._slot = -1
        """Slots into the key, and into the pause behind it; -1 between keys."""

    @property
    def busy(self) -> bool:
        """Return whether a key is pressed, or waits to be."""
        return self._slot >= 0 or bool(self._waiting)

    def press(self, keys: str) -> None:
        """Press keys, each one of `KEYS`."""
        self._waiting.extend(key for key in keys if key in KEYS)

    def forget(self) -> None:
        """Press no more."""
        self._waiting.clear()
        self._slot = -1

    def next(self) -> tuple[list[bytes], bool]:
        """Return the payloads of this slot (none in a pause), and whether they begin a key."""
        if self._slot < 0:
            self._code, self._slot = EVENTS.index(self._waiting.popleft()), 0
        slot = self._slot
        pressed = KEY_MS // FRAME_MS
        self._slot = slot + 1 if slot + 1 < pressed + GAP_MS // FRAME_MS else -1
        if slot >= pressed:
            return [], False
        ends = slot == pressed - 1
        payload = _EVENT.pack(self._code, (0x80 if ends else 0) | VOLUME, (slot + 1) * self._step)
        return [payload] * (ENDINGS if ends else 1), slot == 0
