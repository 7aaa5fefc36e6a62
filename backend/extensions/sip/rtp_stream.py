"""The RTP of one call by SIP: a packet sent every 20 ms, received packets, keys both ways, one socket.

Sound is sent to the address that the peer's packets come from (*symmetric RTP*); behind NAT its description names
another. But a packet counts only if it comes from one of two hosts: the one in the description, or the one that sent
the INVITE. The first such sender is kept. Another port of those hosts may replace it after two quiet seconds. So a
stranger who guesses a port can neither speak into a call nor receive its sound.
"""

import asyncio
import errno
import logging
import random
import secrets
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from backend.errors import TooMany
from backend.extensions.sip.codecs import open_decoder, open_encoder
from backend.extensions.sip.keys import KeyReader, key_payloads
from backend.extensions.sip.sdp import MediaPlan
from backend.media.clock import SlotStream, current_media_clock
from backend.media.frame import FRAME_MS, Frame
from backend.media.playout import Playout
from backend.media.receive import ReceivePipeline
from backend.transports.phone_line import OnKey
from backend.transports.udp import ClockedSocket, bind_udp, current_socket_reader
from backend.transports.webrtc.srtp import MARKER, read_packet, write_packet

log = logging.getLogger(__name__)

SILENCE_S, HOLD_MAX_S = 60.0, 600.0
"""Seconds without a packet after which the peer counts as gone: normally, and while it keeps us on hold."""
QUIET_S = 2.0
"""Seconds of silence after which another sender may replace the present one."""
RTCP_TYPES = range(72, 80)
"""The payload types of RTCP packets (RFC 5761, 4)."""
RETRY_AFTER_S = 10


class RtpStream(asyncio.DatagramProtocol):
    """One call's RTP, from `use` to `close`. Construct it on the event loop; it owns `sock`."""

    def __init__(
        self,
        sock: socket.socket,
        playout: Playout,
        *,
        on_frames: Callable[[list[Frame]], None],
        on_fault: Callable[[Exception], None],
    ) -> None:
        self._playout = playout
        self._on_frames, self._on_fault = on_frames, on_fault
        self.on_key: OnKey | None = None
        self._plan: MediaPlan | None = None
        self._hosts: set[str] = set()
        self._remote: tuple[str, int] | None = None
        self._sender: tuple[str, int] | None = None
        self._heard_at = 0.0
        self._now = asyncio.get_running_loop().time
        self._receiving: ReceivePipeline | None = None
        self._keys_in = KeyReader()
        self._pressing = asyncio.Lock()
        self._source = secrets.randbits(32)
        self._sequence = secrets.randbits(15)
        self._epoch = self._timestamp = secrets.randbits(31)
        self._begins = True  # the next packet begins a talkspurt
        self._lost_at = self._now() + SILENCE_S
        self._clock = current_media_clock()
        self._socket = ClockedSocket(sock, self, current_socket_reader())
        self._slot = self._clock.join(self._on_slot, on_fault)

    @property
    def held(self) -> bool:
        """Return whether the peer has put us on hold."""
        return self._plan is not None and not self._plan.receives

    @property
    def takes_keys(self) -> bool:
        """Return whether keys can be pressed."""
        return self._plan is not None and self._plan.keys_type is not None

    @property
    def lost_at(self) -> float:
        """The time at which the peer counts as gone, if no packet comes before."""
        if self._plan is not None and self._plan.sends and self._plan.receives and self._receiving is not None:
            return self._receiving.lost_at  # only a peer that is not on hold has to be heard
        return self._lost_at

    def use(self, plan: MediaPlan, peer: str) -> None:
        """Send and receive as agreed; `peer` is the address that the SIP messages come from."""
        before, self._plan, now = self._plan, plan, self._now()
        self._hosts = {plan.address[0], peer}
        if before is None or before.address != plan.address:
            self._remote, self._sender = plan.address, None
        self._lost_at = now + (SILENCE_S if plan.sends and plan.receives else HOLD_MAX_S)
        if before is None or before.codec != plan.codec:
            self._close_codecs()
            self._encoder = open_encoder(plan.codec)
        elif self._receiving is not None:
            self._receiving.close()
        self._receiving = ReceivePipeline(now, lost_after_s=SILENCE_S, open_decoder=partial(open_decoder, plan.codec))
        self._begins = True

    async def press(self, keys: str) -> int:
        """Press keys, and return how many were sent. Pressing ends if the peer holds the call or takes no keys."""
        async with self._pressing:
            slots = SlotStream(self._clock)
            try:
                for sent, key in enumerate(keys):
                    if (plan := self._plan) is None or plan.keys_type is None or not plan.receives:
                        return sent
                    await self._press(key, plan.keys_type, plan.keys_clock * FRAME_MS // 1000, slots)
            finally:
                slots.leave()
        return len(keys)

    async def _press(self, key: str, payload_type: int, step: int, slots: SlotStream) -> None:
        """Send one key to its end, since a peer counts a key once it has received a part of it."""
        began = self._timestamp
        for slot, payloads in enumerate(key_payloads(key, step)):
            for payload in payloads:
                self._send(payload_type, began, payload, marker=slot == 0)
            await slots.next()

    def close(self) -> None:
        """Release the socket and the codecs. Safe to call twice."""
        self._slot.leave()
        self._socket.close()
        self._close_codecs()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        packet, plan, receiving = read_packet(data), self._plan, self._receiving
        if packet is None or plan is None or receiving is None or packet.payload_type in RTCP_TYPES:  # no sound
            return
        now = self._now()
        if not self._is_peer((addr[0], addr[1]), now):
            return
        if packet.payload_type == plan.keys_type and (key := self._keys_in.read(packet)) and self.on_key is not None:
            self.on_key(key)
        if self.held:
            return  # a holding peer may send music
        sound = packet.payload if packet.payload_type == plan.payload_type else b""
        try:
            self._on_frames(receiving.receive(packet.ssrc, packet.sequence_number, packet.timestamp, sound, now))
        except Exception as error:
            log.exception("a call's sound could not be decoded")
            self._on_fault(error)

    def error_received(self, exc: Exception) -> None:
        """Ignore that no program listens at the peer: it counts as gone once no packets come."""

    def _is_peer(self, sender: tuple[str, int], now: float) -> bool:
        """Return whether a packet of `sender` counts; if so, send to it from now on."""
        if sender != self._sender:
            if sender[0] not in self._hosts or (self._sender is not None and now - self._heard_at < QUIET_S):
                return False  # a stranger, or another port while the known one still sends
            self._sender = self._remote = sender
        self._heard_at = now
        return True

    def _on_slot(self, number: int) -> None:
        receiving, read_all_at = self._receiving, self._clock.read_all_at  # what waits in the kernel is not missing
        if receiving is not None and receiving.due <= read_all_at:
            self._on_frames(receiving.expire(read_all_at))
        plan = self._plan
        if plan is None or not plan.receives:
            self._begins = True
            return
        self._timestamp = self._epoch + number * (plan.clock * FRAME_MS // 1000)
        if self._pressing.locked():
            self._begins = True
            return
        frame = self._playout.pull()
        payload = self._encoder.encode(frame) if frame is not None else self._encoder.rest()
        self._send(plan.payload_type, self._timestamp, payload, marker=self._begins)
        self._begins = False

    def _send(self, payload_type: int, timestamp: int, payload: bytes, *, marker: bool) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF
        kind = payload_type | (MARKER if marker else 0)
        packet = write_packet(kind, self._sequence, timestamp & 0xFFFFFFFF, self._source, payload)
        self._socket.sendto(packet, self._remote)

    def _close_codecs(self) -> None:
        if self._receiving is not None:
            self._receiving.close()
            self._receiving = None
            self._encoder.close()


def open_rtp_socket(host: str, ports: tuple[int, int]) -> socket.socket:
    """Return a socket on an even port of the range. Raises `TooMany` when none is free."""
    low, high = ports
    even = range(low + low % 2, high + 1, 2)
    start = random.randrange(len(even)) if even else 0
    for offset in range(len(even)):
        try:
            return bind_udp(host, even[(start + offset) % len(even)])
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise TooMany("No socket for another call.", retry_after_s=RETRY_AFTER_S, hint=str(error)) from error
    raise TooMany("All RTP ports are in use.", retry_after_s=RETRY_AFTER_S, hint="Widen SIP__RTP_PORTS.")
