"""UDP sockets of calls: the addresses and ports to bind and to advertise, and sockets that the media clock reads.

A server reads the sockets of all its calls by the media clock instead of each by the event loop (see `media.clock` for
why). A `SocketReader` asks the system once which sockets have data, and empties those. A `ClockedSocket` is an asyncio
datagram transport in which nothing waits: a datagram that the network does not take immediately is dropped, since
delayed audio would be too late, and STUN and DTLS repeat what is not answered.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import random
import select
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from backend.errors import TooMany
from backend.media.clock import MediaClock, current_media_clock

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
"""The only address of a machine without a network, enough for programs. Chromium gathers nothing there, unless it is
started with `--allow-loopback-in-peer-connection` and may use the microphone; it can call by WebSocket."""
RECEIVE_BUFFER = 256 * 1024
"""Bytes of a call's packets that the kernel keeps: seconds of speech, if our process stalls."""
RETRY_AFTER_S = 10
DATAGRAM_BYTES = 2048
"""The size of the read buffer: more than any network carries in one datagram."""
AT_ONCE = 8
"""The sockets that are read, a datagram of each, between two looks at the clock: about a millisecond when all their
callers speak. The system reports the others first the next time; a flood waits in the kernel's buffer, which drops what
it cannot hold."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The address to bind and the `public` one to advertise for it."""

    address: str
    public: str


def choose_bindings(found: list[str], force_host: str | None) -> list[Binding]:
    """Return the addresses to bind and advertise, given the machine's own addresses.

    A forced address of this machine is bound alone. Any other (the host's, seen from inside a container; the router's,
    behind NAT) is advertised for a socket on all interfaces. Only a machine without a network uses loopback, which ICE
    otherwise leaves out (RFC 8445, 5.1.1.1).
    """
    if force_host is None:
        return [Binding(address, address) for address in found or [LOOPBACK]]
    forced = ipaddress.ip_address(force_host)
    if force_host in found or forced.is_loopback:
        return [Binding(force_host, force_host)]
    return [Binding("0.0.0.0" if forced.version == 4 else "::", force_host)]


BoundSocket = tuple[Binding, socket.socket]


def open_sockets(bindings: list[Binding], port_range: tuple[int, int] | None) -> list[BoundSocket]:
    """Return a UDP socket for each binding, all on one port if there is a range; an address that is gone is left out.

    Raises `TooMany` if no port of the range is free on all addresses.
    """
    if port_range is None:
        return _bind_all(bindings, 0) or []
    low, high = port_range
    ports = high - low + 1
    start = random.randrange(ports)
    for offset in range(ports):
        sockets = _bind_all(bindings, low + (start + offset) % ports)
        if sockets is not None:
            return sockets
    raise TooMany("All UDP ports for calls are in use.", retry_after_s=RETRY_AFTER_S, hint="Widen RTC_PORT_RANGE.")


def _bind_all(bindings: list[Binding], port: int) -> list[BoundSocket] | None:
    """Return sockets for all bindings on `port`; None if the port is taken on one of them."""
    sockets: list[BoundSocket] = []
    with ExitStack() as closing:
        for binding in bindings:
            try:
                sockets.append((binding, closing.enter_context(bind_udp(binding.address, port))))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    continue
                if error.errno == errno.EADDRINUSE:
                    return None
                raise TooMany("No socket for another call.", retry_after_s=RETRY_AFTER_S, hint=str(error)) from error
        closing.pop_all()
    return sockets


def bind_udp(address: str, port: int) -> socket.socket:
    """Return a bound UDP socket that never waits. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


class SocketReader:
    """The clocked sockets of one event loop, read together; see `current_socket_reader`."""

    def __init__(self, media_clock: MediaClock, now: Callable[[], float]) -> None:
        """Read by `media_clock`; `now` is the event loop's time."""
        self._media_clock = media_clock
        self._now = now
        self._ready: Any
        self._ready, most = (select.epoll(), (AT_ONCE,)) if hasattr(select, "epoll") else (select.poll(), ())
        self._poll: Callable[[], list[tuple[int, int]]] = partial(self._ready.poll, 0, *most)
        self._sockets: dict[int, ClockedSocket] = {}

    def add(self, clocked: ClockedSocket, descriptor: int) -> None:
        """Read `clocked` from now on."""
        self._sockets[descriptor] = clocked
        self._ready.register(descriptor, select.POLLIN)
        self._media_clock.begin_reading(self._read)

    def remove(self, descriptor: int) -> None:
        """Stop reading a socket; call this before the socket is closed. Safe to call twice."""
        if self._sockets.pop(descriptor, None) is not None:
            self._ready.unregister(descriptor)
        if not self._sockets:
            self._media_clock.end_reading(self._read)

    def _read(self, until: float) -> float | None:
        """Read until the moment `until`; return the moment up to which all data has been read, None if data is left."""
        sockets, poll, now = self._sockets, self._poll, self._now
        asked = now()
        while ready := poll():
            for descriptor, _ in ready:
                if (clocked := sockets.get(descriptor)) is not None:
                    clocked.receive()
            asked = now()
            if asked >= until:
                return None
        return asked


class ClockedSocket(asyncio.DatagramTransport):
    """A bound UDP socket that hands `protocol` each datagram when the media clock reads it."""

    def __init__(self, sock: socket.socket, protocol: asyncio.DatagramProtocol, reader: SocketReader) -> None:
        super().__init__({"socket": sock, "sockname": sock.getsockname()})
        self._socket = sock
        self._descriptor = sock.fileno()
        self._protocol = protocol
        self._reader = reader
        self._closing = False
        protocol.connection_made(self)
        reader.add(self, self._descriptor)

    def receive(self) -> None:
        """Read one datagram and pass it on."""
        try:
            data, address = self._socket.recvfrom(DATAGRAM_BYTES)
        except (BlockingIOError, InterruptedError):
            return  # the datagram's checksum was wrong, which the system finds only when it is read
        except OSError as error:
            self._protocol.error_received(error)
            return
        try:
            self._protocol.datagram_received(data, address)
        except Exception:
            log.exception("a datagram could not be handled")

    def sendto(self, data: Any, addr: Any = None) -> None:
        """Send a datagram now, or drop it."""
        if self._closing:
            return
        try:
            self._socket.sendto(data, addr)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._protocol.error_received(error)

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Close the socket; the protocol's `connection_lost` is called soon. Safe to call twice."""
        if self._closing:
            return
        self._closing = True
        self._reader.remove(self._descriptor)
        self._socket.close()
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()  # nothing ever waits


_readers: WeakKeyDictionary[asyncio.AbstractEventLoop, SocketReader] = WeakKeyDictionary()


def current_socket_reader() -> SocketReader:
    """Return the running event loop's reader."""
    loop = asyncio.get_running_loop()
    reader = _readers.get(loop)
    if reader is None:
        reader = _readers[loop] = SocketReader(current_media_clock(), loop.time)
    return reader
