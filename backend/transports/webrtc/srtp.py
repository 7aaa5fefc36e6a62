"""Reaching inside pylibsrtp 1.0: protection on and off a media packet with fewer steps than its wrapper takes.

The wrapper allocates a new length for each packet, looks the function up, and raises for each packet refused. What is
used here is its binding, with the session's own buffer.
`tests/transports/test_pins.py` fails when a new pylibsrtp changes what is relied on.
"""

from __future__ import annotations

from pylibsrtp import SRTP_MAX_TRAILER_LEN, Error, Session
from pylibsrtp._binding import ffi, lib  # type: ignore[import-not-found]  # compiled, without types


class Protection:
    """One direction's, with the keys of `session`."""

    def __init__(self, session: Session) -> None:
        self._session = session  # owns the handle and the buffer
        self._handle = session._srtp[0]
        self._room, self._packet = session._cdata, session._buffer
        self._limit = len(session._cdata)
        self._length = ffi.new("int *")
        self._protect, self._unprotect = lib.srtp_protect, lib.srtp_unprotect

    def __repr__(self) -> str:
        return f"Protection({self._handle})"

    def put_on(self, packet: bytes) -> bytes:
        """An RTP packet, protected. Raises `pylibsrtp.Error`."""
        size = len(packet)
        if size > self._limit - SRTP_MAX_TRAILER_LEN:
            raise Error("packet is too long")
        self._packet[0:size] = packet
        self._length[0] = size
        if code := self._protect(self._handle, self._room, self._length):
            raise Error(f"libsrtp refused a packet: {code}")
        protected: bytes = self._packet[0 : self._length[0]]
        return protected

    def take_off(self, data: bytes) -> bytes | None:
        """The RTP packet in `data`; None when it is repeated, too old, too long, or not from who has the key."""
        size = len(data)
        if size > self._limit:
            return None
        self._packet[0:size] = data
        self._length[0] = size
        if self._unprotect(self._handle, self._room, self._length):
            return None
        packet: bytes = self._packet[0 : self._length[0]]
        return packet
