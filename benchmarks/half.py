"""The server's half of some calls, driven by hand: real peers on loopback (ICE, DTLS, SRTP), without a media clock.

Packets are protected as the callers' are, and sent to the server's sockets from one of our own, since SRTP ignores the
sender's address. `read` reads them, like the media clock. `play` serves slots.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from math import inf

from backend.media.clock import current_media_clock
from backend.transports.base import OnFrame
from backend.transports.udp import current_socket_reader
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.srtp import write_packet
from backend.transports.webrtc.transport import WebRTCTransport, accept_offer
from responder_thinker.webrtc import WebRTCCaller

LOOPBACK = IceConfig(force_host="127.0.0.1", lost_after_s=3600)
AFTER = 50
"""Distance of our sequence numbers from those that the caller has sent itself."""


class HalfCall:
    """One call: its transport, and a sender of packets to it."""

    def __init__(self, transport: WebRTCTransport, caller: WebRTCCaller) -> None:
        self.transport = transport
        self._caller = caller.peer.sender
        self._sequence, self._timestamp = self._caller._sequence + AFTER, 10_000_000
        self._address = caller.peer._ice._nominated[1].remote_addr
        slot = transport._peer.sender.slot
        assert slot is not None
        self.slot = slot

    def send(self, payload: bytes, through: socket.socket) -> None:
        """The caller's next packet."""
        self._sequence, self._timestamp = (self._sequence + 1) & 0xFFFF, self._timestamp + 960
        caller = self._caller
        packet = write_packet(caller._payload_type, self._sequence, self._timestamp, caller._ssrc, payload)
        through.sendto(caller.transport._tx_srtp.protect(packet), self._address)


class Half:
    """The server's half of `calls`."""

    def __init__(self, calls: list[HalfCall], through: socket.socket) -> None:
        self.calls = calls
        self._through = through
        self._slot = 0

    def send(self, payload: bytes, calls: int | None = None) -> None:
        """A packet from each of the first `calls` callers, waiting to be read."""
        for call in self.calls[:calls]:
            call.send(payload, self._through)

    def read(self) -> None:
        """Read all waiting packets."""
        current_socket_reader()._read(inf)

    def play(self, calls: int | None = None) -> None:
        """Play the next slot, for the first `calls`."""
        self._slot += 1
        for call in self.calls[:calls]:
            call.slot.serve(self._slot)


@asynccontextmanager
async def half_of(calls: int, make_on_frame: Callable[[], OnFrame]) -> AsyncIterator[Half]:
    """That many calls, connected, then stopped; each with a receiver of its own."""
    async with AsyncExitStack() as stack:
        pairs = [await _connected(stack) for _ in range(calls)]
        receiving = [asyncio.create_task(transport.receive_frames(make_on_frame())) for transport, _ in pairs]
        await asyncio.sleep(0.2)
        _stop_clock()
        await asyncio.sleep(0.1)
        halves = [HalfCall(transport, caller) for transport, caller in pairs]
        yield Half(halves, stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
    await asyncio.gather(*receiving)


async def _connected(stack: AsyncExitStack) -> tuple[WebRTCTransport, WebRTCCaller]:
    caller = WebRTCCaller(LOOPBACK)
    stack.push_async_callback(caller.close)
    answer, transport = await accept_offer(await caller.offer(), LOOPBACK)
    stack.push_async_callback(transport.close)
    await caller.accept(answer)
    await caller.connected()
    return transport, caller


def _stop_clock() -> None:
    """Stop the players of all calls."""
    for phase in current_media_clock()._phases:
        for slot in list(phase.slots):
            slot.leave()
