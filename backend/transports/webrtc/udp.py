"""UDP sockets that are read by the media clock instead of each by the event loop: see `media.clock` for why.

A `SocketReader` asks the system once which of all its sockets have something, and empties those. A `ClockedSocket` is
an asyncio datagram transport, so that aioice does not know the difference, except that nothing ever waits in it: what
the network does not take at once is dropped, since audio that waited would be too late, and STUN and DTLS repeat what
is not answered.
"""

from __future__ import annotations

import asyncio
import logging
import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from backend.media.clock import MediaClock, current_media_clock

log = logging.getLogger(__name__)

DATAGRAM_BYTES = 2048
"""More than any network carries without cutting it up."""
AT_ONCE = 8
"""Sockets read, a datagram of each, between two looks at the clock: about a millisecond when all their callers speak.
The system tells of the others first the next time, so that none is forgotten; a flood waits in the kernel's buffer,
which drops what it cannot hold."""


class SocketReader:
    """All clocked sockets of one event loop; see `current_socket_reader`."""

    def __init__(self, beat: MediaClock, clock: Callable[[], float]) -> None:
        """`clock`: the event loop's."""
        self._beat = beat
        self._clock = clock
        self._ready: Any
        self._ready, most = (select.epoll(), (AT_ONCE,)) if hasattr(select, "epoll") else (select.poll(), ())
        self._poll: Callable[[], list[tuple[int, int]]] = partial(self._ready.poll, 0, *most)
        self._sockets: dict[int, ClockedSocket] = {}

    def __repr__(self) -> str:
        return f"SocketReader({len(self._sockets)} sockets)"

    def add(self, clocked: ClockedSocket, descriptor: int) -> None:
        """Read it from now on."""
        self._sockets[descriptor] = clocked
        self._ready.register(descriptor, select.POLLIN)
        self._beat.begin_reading(self._read)

    def remove(self, descriptor: int) -> None:
        """Read it no more; before it is closed. Safe to call twice."""
        if self._sockets.pop(descriptor, None) is not None:
            self._ready.unregister(descriptor)
        if not self._sockets:
            self._beat.end_reading(self._read)

    def _read(self, until: float) -> float | None:
        """What has come; from `until` on the rest waits. Returns when it was asked for that nothing was left of."""
        sockets, poll, clock = self._sockets, self._poll, self._clock
        asked = clock()
        while ready := poll():
            for descriptor, _ in ready:
                if (clocked := sockets.get(descriptor)) is not None:
                    clocked.receive()
            asked = clock()
            if asked >= until:
                return None
        return asked


class ClockedSocket(asyncio.DatagramTransport):
    """A bound UDP socket that tells `protocol` of each datagram when the beat comes to it."""

    def __init__(self, sock: socket.socket, protocol: asyncio.DatagramProtocol, intake: SocketReader) -> None:
        super().__init__({"socket": sock, "sockname": sock.getsockname()})
        self._socket = sock
        self._descriptor = sock.fileno()
        self._protocol = protocol
        self._intake = intake
        self._closing = False
        protocol.connection_made(self)
        intake.add(self, self._descriptor)

    def __repr__(self) -> str:
        return f"ClockedSocket({self.get_extra_info('sockname')}{', closed' if self._closing else ''})"

    def receive(self) -> None:
        """One datagram that is there."""
        try:
            data, address = self._socket.recvfrom(DATAGRAM_BYTES)
        except (BlockingIOError, InterruptedError):
            return  # its checksum was wrong: the system found out when it was asked for it
        except OSError as error:
            self._protocol.error_received(error)
            return
        try:
            self._protocol.datagram_received(data, address)
        except Exception:
            log.exception("a datagram could not be handled")

    def sendto(self, data: Any, addr: Any = None) -> None:
        """Send it now, or drop it."""
        if self._closing:
            return
        try:
            self._socket.sendto(data, addr)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._protocol.error_received(error)

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._closing

    def close(self) -> None:
        """Close it; the protocol is told soon. Safe to call twice."""
        if self._closing:
            return
        self._closing = True
        self._intake.remove(self._descriptor)
        self._socket.close()
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        """As `close`: there is nothing to wait for."""
        self.close()


_intakes: WeakKeyDictionary[asyncio.AbstractEventLoop, SocketReader] = WeakKeyDictionary()


def current_socket_reader() -> SocketReader:
    """The running event loop's."""
    loop = asyncio.get_running_loop()
    intake = _intakes.get(loop)
    if intake is None:
        intake = _intakes[loop] = SocketReader(current_media_clock(), loop.time)
    return intake
