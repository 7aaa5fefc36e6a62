"""Reaching inside aioice 0.13: which addresses and UDP ports a call binds, and what it advertises.

aioice gathers every address but loopback on ports of the system's choice, and has no setting for either. One
connection's `get_component_candidates` is replaced here, on the instance; the module stays as it is. Its sockets get a
protocol that does not try to read a media packet as STUN first.
`tests/transports/test_pins.py` fails when a new aioice changes what is relied on.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import random
import socket
from dataclasses import dataclass
from typing import Any

from aioice import Candidate, Connection
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import StunProtocol, get_host_addresses, server_reflexive_candidate

from backend.errors import TooMany
from backend.transports.webrtc.udp import ClockedSocket, current_socket_reader

LOOPBACK = "127.0.0.1"
"""Enough for programs. Chromium gathers nothing on a machine that has only this, unless it is started with
`--allow-loopback-in-peer-connection` and has leave to use the microphone; the WebSocket is the way there."""
RECEIVE_BUFFER = 256 * 1024
"""Bytes the kernel keeps of a call's packets: seconds of speech, should our process stall."""
STUN_WITHIN_S = 5
"""Seconds STUN and TURN servers have to answer while candidates are gathered."""
RETRY_AFTER_S = 10
LAST_STUN_BYTE = 3
"""STUN messages begin with a byte of 0 to 3."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Bind `address`; advertise `public`."""

    address: str
    public: str


class MediaSocket(StunProtocol):
    """A call's socket. Fifty times a second media comes: it is told from STUN by its first byte (RFC 7983)."""

    def datagram_received(self, data: bytes | str, addr: tuple[Any, ...]) -> None:
        """Media and DTLS to the connection, STUN to the original; an empty datagram, which DTLS trips over, nowhere."""
        if not data:
            return
        if isinstance(data, bytes) and data[0] > LAST_STUN_BYTE:
            self.receiver.data_received(data, self.local_candidate.component)
        else:
            super().datagram_received(data, addr)


def choose_bindings(found: list[str], force_host: str | None) -> list[Binding]:
    """What to bind and advertise, given the machine's own addresses.

    A forced address that is ours is bound alone. One that is not (the host's, seen from inside a container; the
    router's, behind NAT) is advertised for a socket that takes what comes in on any interface. A machine without
    a network still has itself: loopback, which ICE otherwise leaves out (RFC 8445, 5.1.1.1).
    """
    if force_host is None:
        return [Binding(address, address) for address in found or [LOOPBACK]]
    forced = ipaddress.ip_address(force_host)
    if force_host in found or forced.is_loopback:
        return [Binding(force_host, force_host)]
    return [Binding("0.0.0.0" if forced.version == 4 else "::", force_host)]


def bind_within(
    connection: Connection, force_host: str | None, port_range: tuple[int, int] | None, *, clocked: bool
) -> None:
    """Make `connection` gather by our rules. Before it gathers; gathering may then raise `TooMany`.

    `clocked`: its sockets are read by the beat, with those of other calls, rather than each as soon as it may.
    """

    async def gather(component: int, addresses: list[str], timeout: int = STUN_WITHIN_S) -> list[Candidate]:
        bindings = choose_bindings(addresses, force_host)
        sockets = open_sockets([binding.address for binding in bindings], port_range)
        protocols = await _listen_on_all(connection, component, bindings, sockets, clocked)
        candidates = [protocol.local_candidate for protocol in protocols]
        if connection.stun_server and force_host is None:
            candidates += await _reflexive(protocols, connection.stun_server)
        return candidates + await stock_gather(component, [], timeout)  # no address left to bind: TURN only

    stock_gather = connection.get_component_candidates
    vars(connection)["get_component_candidates"] = gather


def own_addresses() -> list[str]:
    """This machine's addresses as aioice finds them: neither loopback nor IPv6 link-local."""
    return get_host_addresses(use_ipv4=True, use_ipv6=True)


def abort(connection: Connection) -> None:
    """Close the sockets of a connection that would not close in order."""
    for protocol in connection._protocols:
        protocol.transport.abort()


def open_sockets(addresses: list[str], port_range: tuple[int, int] | None) -> list[socket.socket | None]:
    """A UDP socket per address, all on one port if there is a range; None for an address that is gone.

    Raises `TooMany` when no port of the range is free on all of them.
    """
    if port_range is None:
        return _bind_all(addresses, 0) or []
    low, high = port_range
    ports = high - low + 1
    start = random.randrange(ports)
    for offset in range(ports):
        sockets = _bind_all(addresses, low + (start + offset) % ports)
        if sockets is not None:
            return sockets
    raise TooMany("All UDP ports for calls are in use.", retry_after_s=RETRY_AFTER_S, hint="Widen RTC_PORT_RANGE.")


def _bind_all(addresses: list[str], port: int) -> list[socket.socket | None] | None:
    """Sockets for all addresses on `port`; None if it is taken on one of them."""
    sockets: list[socket.socket | None] = []
    for address in addresses:
        try:
            sockets.append(_bind(address, port))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                sockets.append(None)
                continue
            _close_all(sockets)
            if error.errno == errno.EADDRINUSE:
                return None
            raise TooMany("No socket for another call.", retry_after_s=RETRY_AFTER_S, hint=str(error)) from error
    return sockets


def _close_all(sockets: list[socket.socket | None]) -> None:
    for sock in sockets:
        if sock is not None:
            sock.close()


def _bind(address: str, port: int) -> socket.socket:
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


async def _listen_on_all(
    connection: Connection,
    component: int,
    bindings: list[Binding],
    sockets: list[socket.socket | None],
    clocked: bool,
) -> list[StunProtocol]:
    waiting = [(binding, sock) for binding, sock in zip(bindings, sockets, strict=True) if sock is not None]
    protocols = []
    try:
        while waiting:
            protocols.append(await _listen(connection, component, *waiting.pop(0), clocked))
    finally:
        _close_all([sock for _, sock in waiting])  # only when cancelled in between
    return protocols


async def _listen(
    connection: Connection, component: int, binding: Binding, sock: socket.socket, clocked: bool
) -> StunProtocol:
    port = sock.getsockname()[1]
    protocol = MediaSocket(connection)
    if clocked:
        ClockedSocket(sock, protocol, current_socket_reader())
    else:
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: protocol, sock=sock)
    protocol.local_candidate = Candidate(
        foundation=candidate_foundation("host", "udp", binding.public),
        component=component,
        transport="udp",
        priority=candidate_priority(component, "host"),
        host=binding.public,
        port=port,
        type="host",
    )
    connection._protocols.append(protocol)
    return protocol


async def _reflexive(protocols: list[StunProtocol], server: tuple[str, int]) -> list[Candidate]:
    """Our addresses as a STUN server sees them; an unreachable server costs 5 s and gives none."""
    tasks = [
        asyncio.create_task(server_reflexive_candidate(protocol, server))
        for protocol in protocols
        if ":" not in protocol.local_candidate.host
    ]
    if not tasks:
        return []
    done, pending = await asyncio.wait(tasks, timeout=STUN_WITHIN_S)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return [task.result()[0] for task in done if task.exception() is None]
