"""The callers' event loop and sockets: watched while a call is set up, then read by its `Line` at fixed times.

uvloop wakes for every datagram and cannot be stopped. So in this loop a datagram socket is a plain one with a reader,
which can be removed.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvloop

MOST_BYTES = 2048
"""The longest datagram taken."""
SO_TIMESTAMPNS = 35 if sys.platform == "linux" else None
"""Linux's number for the kernel's record of arrivals (asm-generic/socket.h), which Python does not name."""


class CallersLoop(uvloop.Loop):
    """uvloop with other datagram sockets."""

    async def create_datagram_endpoint(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.DatagramProtocol], *, sock: socket.socket
    ) -> tuple[DrainedSocket, asyncio.DatagramProtocol]:
        """Only for a bound socket: we have no others."""
        protocol = protocol_factory()
        return DrainedSocket(self, sock, protocol), protocol


class DrainedSocket(asyncio.DatagramTransport):
    """One socket, with the transport methods that its protocol needs."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, protocol: asyncio.DatagramProtocol
    ) -> None:
        super().__init__({"socket": sock, "sockname": sock.getsockname()})
        self.socket = sock
        self.protocol = protocol
        self._loop = loop
        self._watched = True
        if SO_TIMESTAMPNS is not None:
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        loop.add_reader(sock.fileno(), self._readable)
        protocol.connection_made(self)

    def __repr__(self) -> str:
        return f"DrainedSocket({self.get_extra_info('sockname')}, {'watched' if self._watched else 'not watched'})"

    def unwatch(self) -> None:
        """Let another reader read it from now on."""
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self.socket.fileno())

    def sendto(self, data: Any, addr: Any = None) -> None:
        """Send immediately, or not at all: a full socket loses the datagram, as the network would."""
        try:
            self.socket.sendto(data, addr)
        except OSError as error:
            self.protocol.error_received(error)

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.socket.fileno() < 0

    def close(self) -> None:
        """Release it, and tell the protocol in the loop's next round."""
        if not self.is_closing():
            self.unwatch()
            self.socket.close()
            self._loop.call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        """Close it: there is nothing to wait for."""
        self.close()

    def _readable(self) -> None:
        try:
            data, address = self.socket.recvfrom(MOST_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self.protocol.error_received(error)
            return
        self.protocol.datagram_received(data, address)
