"""The links of SIP: UDP datagrams and TCP connections, each a `Link` to one peer.

Datagrams that cannot be sent are dropped, since SIP repeats them. The messages of a connection are divided by their
Content-Length (RFC 3261, 18.3). Its peer may be silent during a call, and otherwise for `IDLE_S`. There are limits for
the connections of the server and of an address, the length of a message, and the bytes that wait to be sent.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from backend.errors import PeerError
from backend.runtime.supervisor import cancel_all
from backend.transports.udp import bind_udp

MOST_CONNECTIONS, MOST_OF_ADDRESS = 128, 32
IDLE_S = 120.0
"""Seconds without a message after which a connection is closed, unless it carries a call."""
CONNECT_WITHIN_S = 5.0
CLOSE_WITHIN_S = 2.0
HEAD_BYTES, BODY_BYTES = 16_384, 65_535
WAITING_BYTES = 256 * 1024
"""Bytes that may wait to be sent; the connection of a slower peer is closed."""
ATTEMPTS = 20
"""The most ports of the system's choice that are tried."""
KEEP_ALIVE = b"\r\n\r\n"
LENGTH = re.compile(rb"^(?:content-length|l)[ \t]*:[ \t]*(\d{1,8})[ \t]*\r?$", re.I | re.M)

Address = tuple[str, int]


class Link(Protocol):
    """A link to one peer."""

    reliable: bool
    """True if the network repeats lost messages."""
    protocol: str
    """The name of the network in Via: UDP or TCP."""
    peer: Address
    here: Address
    """The address at which the peer reaches this server."""

    def send(self, data: bytes) -> None:
        """Send a message, or drop it."""
        ...


OnMessage = Callable[[bytes, Link], None]
"""Called on the event loop with each message, and the link for its answer."""


class Datagrams(asyncio.DatagramProtocol):
    """The UDP socket of a user agent."""

    def __init__(self, on_message: OnMessage, here: Callable[[str], str]) -> None:
        """`here` returns the address at which a peer reaches us."""
        self._on_message = on_message
        self._here = here
        self._transport: asyncio.DatagramTransport | None = None
        self.port = 0

    async def open(self, sock: socket.socket) -> None:
        """Receive datagrams from a bound socket."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=sock)
        self.port = sock.getsockname()[1]

    def link(self, peer: Address) -> Link:
        """Return a link to a peer."""
        return DatagramLink(self, peer, (self._here(peer[0]), self.port))

    def send(self, data: bytes, peer: Address) -> None:
        """Send a datagram, or drop it."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(data, peer)

    def close(self) -> None:
        """Release the socket. Safe to call twice."""
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if data.strip(b"\r\n\0 "):
            self._on_message(data, self.link((addr[0], addr[1])))

    def error_received(self, exc: Exception) -> None:
        """Ignore that a peer does not listen: its transactions time out."""


class DatagramLink:
    """A peer reached by datagrams."""

    reliable, protocol = False, "UDP"

    def __init__(self, datagrams: Datagrams, peer: Address, here: Address) -> None:
        self._datagrams, self.peer, self.here = datagrams, peer, here

    def towards(self, peer: Address) -> DatagramLink:
        """Return a link to another port of the peer."""
        return DatagramLink(self._datagrams, peer, self.here)

    def send(self, data: bytes) -> None:
        self._datagrams.send(data, self.peer)


class StreamLink:
    """A peer reached by a connection."""

    reliable, protocol = True, "TCP"

    def __init__(self, writer: asyncio.StreamWriter, peer: Address, here: Address) -> None:
        self._writer, self.peer, self.here = writer, peer, here

    @property
    def closed(self) -> bool:
        """Return whether the connection can no longer send."""
        return self._writer.is_closing()

    def send(self, data: bytes) -> None:
        if self.closed:
            return
        if self._writer.transport.get_write_buffer_size() > WAITING_BYTES:
            self._writer.transport.abort()
            return
        self._writer.write(data)

    def close(self) -> None:
        """End the connection; drop waiting messages."""
        self._writer.transport.abort()


class Streams:
    """The TCP socket of a user agent, and all its connections."""

    def __init__(
        self, on_message: OnMessage, here: Callable[[str], str], is_busy: Callable[[Link], bool], idle_s: float = IDLE_S
    ) -> None:
        """`is_busy` returns whether a call needs the connection although it is idle."""
        self._on_message, self._here, self._is_busy, self._idle_s = on_message, here, is_busy, idle_s
        self._server: asyncio.Server | None = None
        self._open: dict[StreamLink, asyncio.Task[Any]] = {}
        self._of_address: Counter[str] = Counter()
        self.port = 0

    async def open(self, sock: socket.socket) -> None:
        """Listen on a bound socket."""
        self._server = await asyncio.start_server(self._serve, sock=sock, limit=HEAD_BYTES)
        self.port = sock.getsockname()[1]

    async def connect(self, host: str, port: int) -> Link:
        """Return a connection to a peer, an existing one if possible. Raises `PeerError`."""
        for link in self._open:
            if link.peer == (host, port) and not link.closed:
                return link
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                reader, writer = await asyncio.open_connection(host, port, limit=HEAD_BYTES)
        except OSError:
            raise PeerError("The SIP peer cannot be reached by TCP.") from None
        link = StreamLink(writer, (host, port), (self._here(host), self.port))
        self._open[link] = asyncio.create_task(self._read(reader, link), name="sip connection")
        return link

    async def close(self) -> None:
        """Close everything. Safe to call twice."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._open.values())
        for link in list(self._open):
            link.close()  # ends the task that reads it
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=CLOSE_WITHIN_S)
            await cancel_all(stuck)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("peername")[:2]
        task = asyncio.current_task()
        # One address cannot take all connections of the server.
        if len(self._open) >= MOST_CONNECTIONS or self._of_address[host] >= MOST_OF_ADDRESS or task is None:
            writer.transport.abort()
            return
        self._of_address[host] += 1
        link = StreamLink(writer, (host, port), (self._here(host), self.port))
        self._open[link] = task
        try:
            await self._read(reader, link)
        finally:
            self._of_address -= Counter([host])

    async def _read(self, reader: asyncio.StreamReader, link: StreamLink) -> None:
        """Read messages until the peer leaves, breaks the protocol, or is idle for too long."""
        try:
            while (message := await self._next(reader, link)) is not None:
                if message:
                    self._on_message(message, link)
        except (OSError, EOFError, asyncio.LimitOverrunError, ValueError):
            pass  # a peer that still needs the server connects again
        finally:
            self._open.pop(link, None)
            link.close()

    async def _next(self, reader: asyncio.StreamReader, link: StreamLink) -> bytes | None:
        """Return a message; empty for a keep-alive; None when the connection is idle."""
        try:
            async with asyncio.timeout(self._idle_s):
                head = (await reader.readuntil(b"\r\n\r\n")).lstrip()
                if not head:
                    link.send(b"\r\n")  # RFC 5626, 4.4.1
                    return b""
                found = LENGTH.search(head)
                length = int(found[1]) if found else 0
                if length > BODY_BYTES:
                    raise ValueError("too long")
                return head + await reader.readexactly(length)
        except TimeoutError:
            return b"" if self._is_busy(link) else None


def address_towards(host: str, bound: str, public: str) -> str:
    """Return the address at which `host` reaches us: the public one, the bound one, or that of the route to it."""
    if public:
        return public
    if bound not in ("0.0.0.0", "::", ""):
        return bound
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:  # connecting a datagram socket sends nothing
        try:
            probe.connect((host, 9))
            address: str = probe.getsockname()[0]
        except OSError:
            return "::1" if family == socket.AF_INET6 else "127.0.0.1"
    return address


def bound_sockets(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """Return a UDP and a TCP socket on the same port; 0: a port that is free for both. Raises `OSError`."""
    for attempt in range(ATTEMPTS):
        datagrams = bind_udp(host, port)
        stream = socket.socket(datagrams.family, socket.SOCK_STREAM)
        try:
            stream.setblocking(False)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            stream.bind((host, datagrams.getsockname()[1]))
        except OSError:
            datagrams.close()
            stream.close()
            if port or attempt == ATTEMPTS - 1:
                raise
        else:
            return datagrams, stream
    raise AssertionError("unreachable")
