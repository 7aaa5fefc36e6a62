"""The `Transport` and `PhoneLine` of a call by SIP. It carries the sound; `SipCall` does the signalling.

The other side has only a jitter buffer, so sent sound counts as heard, as over WebRTC.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING

from backend.errors import MediaFailed, TransportLost, VoiceError
from backend.extensions.sip.rtp_stream import RtpStream
from backend.extensions.sip.sdp import MediaPlan
from backend.runtime.timer import Alarm
from backend.transports.base import BufferedTransport
from backend.transports.phone_line import OnKey

if TYPE_CHECKING:
    from backend.extensions.sip.call import SipCall

log = logging.getLogger(__name__)


class SipTransport(BufferedTransport):
    """The sound of one accepted call. See `transports.base.Transport` and `transports.phone_line.PhoneLine`."""

    def __init__(self, signalling: SipCall, sock: socket.socket) -> None:
        """`sock` carries the sound."""
        super().__init__()
        self._signalling = signalling
        self._stream = RtpStream(sock, self._playout, on_frames=self._queue.enqueue, on_fault=self._fail)
        self._alarm = Alarm(self._on_alarm)
        self._now = asyncio.get_running_loop().time
        self._alarm.set(self._stream.lost_at)

    def use(self, plan: MediaPlan, peer: str) -> None:
        """Send and receive as agreed; `peer` is the address that the SIP messages come from."""
        if self._queue.ended:
            return
        self._stream.use(plan, peer)
        self._alarm.stop()
        self._alarm.set(self._stream.lost_at)

    def arrive(self) -> None:
        """Note that the peer has received our answer."""
        self._queue.arrive()

    def end(self, error: VoiceError | None) -> None:
        """End the call's sound: the peer has hung up, or is gone."""
        self._queue.end(error)
        self._alarm.stop()

    @property
    def transfers(self) -> bool:
        return self._signalling.takes_transfers

    @property
    def presses_keys(self) -> bool:
        return self._stream.takes_keys

    def listen_to_keys(self, on_key: OnKey) -> None:
        self._stream.on_key = on_key

    def press_here(self, key: str) -> None:
        """Handle a caller's key that came in a SIP message."""
        if self._stream.on_key is not None:
            self._stream.on_key(key)

    async def transfer(self, target: str) -> None:
        await self._signalling.refer(target)

    async def press(self, keys: str) -> int:
        return await self._stream.press(keys)

    async def hang_up(self) -> None:
        self._signalling.hang_up()

    async def close(self) -> None:
        self._queue.close()
        self._alarm.stop()
        self._stream.close()
        self._signalling.hang_up()

    def _on_alarm(self) -> None:
        if self._queue.ended:
            return
        if self._stream.lost_at <= self._now():
            why = (
                "The call was on hold for too long."
                if self._stream.held
                else "No sound has come from the caller for too long."
            )
            self.end(TransportLost(why))
        else:
            self._alarm.set(self._stream.lost_at)

    def _fail(self, error: Exception) -> None:
        self.end(MediaFailed(f"This call's audio failed ({type(error).__name__})."))
