"""ICE over sockets of our own, and the way of each datagram past aioice.

This is the one file that reaches inside aioice 0.13. aioice gathers every address but loopback on ports of the system's
choice, without a setting for either; it tries to read each media packet as STUN, and queues it for a task. On the
instance of a connection, `get_component_candidates`, `data_received` and `check_incoming` are replaced, and
`_protocols` and `_nominated` are read; the module stays as it is. If one of these changes, no call connects, or none is
answered: `tests/test_library_pins.py` fails first.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from aioice import Candidate, Connection
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import StunProtocol, server_reflexive_candidate

from backend.transports.udp import (
    Binding,
    BoundSocket,
    ClockedSocket,
    choose_bindings,
    current_socket_reader,
    open_sockets,
)

STUN_WITHIN_S = 5
"""Seconds in which STUN and TURN servers must answer while candidates are gathered."""
LAST_STUN_BYTE = 3
"""The highest first byte of a STUN message (0 to 3)."""


class MediaSocket(StunProtocol):
    """One socket's protocol. Media comes fifty times a second; the first byte distinguishes it from STUN (RFC 7983)."""

    def datagram_received(self, data: bytes | str, addr: tuple[Any, ...]) -> None:
        """Pass media and DTLS to the connection and STUN to aioice; drop an empty datagram, on which DTLS fails."""
        if not data:
            return
        if isinstance(data, bytes) and data[0] > LAST_STUN_BYTE:
            self.receiver.data_received(data, self.local_candidate.component)
        else:
            super().datagram_received(data, addr)


def bind_within(
    connection: Connection, force_host: str | None, port_range: tuple[int, int] | None, *, clocked: bool
) -> None:
    """Make `connection` gather by our rules; call this before it gathers, which may then raise `TooMany`.

    `clocked`: the media clock reads its sockets together with those of other calls; otherwise the event loop does.
    """

    async def gather(component: int, addresses: list[str], timeout: int = STUN_WITHIN_S) -> list[Candidate]:
        sockets = open_sockets(choose_bindings(addresses, force_host), port_range)
        protocols = await _listen_on_all(connection, component, sockets, clocked)
        candidates = [protocol.local_candidate for protocol in protocols]
        if connection.stun_server and force_host is None:
            candidates += await _reflexive(protocols, connection.stun_server)
        return candidates + await stock_gather(component, [], timeout)  # no address left to bind: TURN only

    stock_gather = connection.get_component_candidates
    vars(connection)["get_component_candidates"] = gather


def abort(connection: Connection) -> None:
    """Close the sockets of a connection that has not closed in time."""
    for protocol in connection._protocols:
        protocol.transport.abort()


DataHandler = Callable[[bytes, int], None]
"""Called on the event loop with a datagram that is not STUN, and its component."""


def intercept_data(connection: Connection, on_data: DataHandler) -> DataHandler:
    """Call `on_data` with each datagram that is not STUN as it is read; return the former callback."""
    stock: DataHandler = connection.data_received
    vars(connection)["data_received"] = on_data
    return stock


OnCheck = Callable[[], None]
"""Called on the event loop when the other side proves, by a connectivity check, that it has our description."""


def watch_checks(connection: Connection, on_check: OnCheck) -> None:
    """Call `on_check` for each connectivity check with the credentials of this connection (RFC 8445, 7.3)."""
    stock: Callable[..., None] = connection.check_incoming

    def check_incoming(*check: Any) -> None:
        on_check()
        stock(*check)

    vars(connection)["check_incoming"] = check_incoming


class MediaPath:
    """The outgoing path of one connection: the socket of the candidate pair that ICE has chosen."""

    def __init__(self, connection: Connection) -> None:
        self._pairs: dict[int, Any] = connection._nominated  # by component
        self._pair: Any = None
        self._address = ("", 0)

    def send(self, data: bytes) -> None:
        """Send a datagram; drop it while there is no candidate pair or its socket is closed. ICE reports the loss."""
        pair = self._pairs.get(1)
        if pair is None:
            return
        if pair is not self._pair:
            self._pair, self._address = pair, pair.remote_addr
        if not pair.protocol.transport.is_closing():
            pair.protocol.transport.sendto(data, self._address)


async def _listen_on_all(
    connection: Connection, component: int, sockets: list[BoundSocket], clocked: bool
) -> list[StunProtocol]:
    protocols = []
    try:
        while sockets:
            protocols.append(await _listen(connection, component, *sockets.pop(0), clocked))
    finally:
        for _, sock in sockets:  # only when cancelled in between
            sock.close()
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
    """Return our addresses as a STUN server sees them; an unreachable server costs 5 s and gives none."""
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
