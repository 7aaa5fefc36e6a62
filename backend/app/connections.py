"""Limits of connections that uvicorn lacks, for a server that strangers reach without a proxy.

    accepted ─► too many of this address, or almost no files left: refused with one answer
             ─► 10 s to the end of a request's headers, which have 32 KB; a body of at most 1,000 chunks
             ─► WebSocket: at most 200 messages a second, pings and fragments included

The kernel buffers little of what a client sends (`RECEIVE_BUFFER` in `app/worker_processes.py`), so that parsing it
never blocks the event loop for long. `tests/test_library_pins.py` pins the methods of uvicorn that this module
overrides or relies on.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections import Counter
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from backend.access.addresses import Networks, network_of
from backend.access.principal import Principal, ToolScope
from backend.observability.security_log import SecurityEvent, security_event

log = logging.getLogger(__name__)

HEADERS_WITHIN_S = 10.0
"""Seconds a client may take to send the headers of a request, from the connection or its first byte."""
IDLE_S = 60
"""Seconds a connection may be idle between two requests."""
HEADERS_LIMIT = 32 * 1024
"""The most bytes of a request's first line and headers together."""
CHUNKS_LIMIT = 1_000
"""The most chunks of a body, which has at most 64 KB: smaller chunks cost more to parse than they carry."""
MESSAGES_PER_S = 200
"""WebSocket frames a client may send in a second; a call sends 50. A slow network may deliver as many in one burst."""
FILES_RESERVED = 100
"""Files reserved for the work of accepted connections: calls, Redis, models."""
FILES_WANTED = 65_536
"""The most open files this process asks for, within the operator's hard limit."""
CLOSE_WITHIN_S = 5.0
"""Seconds a client may take to receive the last bytes of a closed connection."""
UNACKNOWLEDGED_S = 120
"""Seconds a client may leave sent bytes unacknowledged; then the kernel ends the connection."""
SEND_BUFFER = 128 * 1024
"""Bytes the kernel keeps for a client that does not read; it takes as many again for its own bookkeeping."""
POLICY_VIOLATION = 1008
FULL = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
"""The answer to a refused connection."""


def raise_file_limit() -> int:
    """Let this process open as many files as it may, up to `FILES_WANTED`, and return the number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


class Connections:
    """Counts the open connections of each address, and decides whether to accept another."""

    def __init__(self, per_address: int, exempt: Networks, files_limit: int) -> None:
        """`per_address` 0: any number. Addresses in the networks `exempt`, such as proxies, are not limited."""
        self._per_address = per_address
        self._exempt = exempt
        self._files_limit = files_limit - FILES_RESERVED
        self._open: Counter[str] = Counter()

    def refusal(self, host: str, file_number: int) -> str:
        """Return why a connection of `host`, which is counted already, is refused; empty: it is accepted.

        A new file gets the lowest free number, so at least `file_number` files are open.
        """
        if file_number >= self._files_limit:
            return "this process is almost out of files"
        if self._per_address and not self._exempt.contain(host) and self._open[network_of(host)] > self._per_address:
            return "this address has too many connections"
        return ""

    def add(self, host: str) -> None:
        """Count a connection of `host`."""
        self._open[network_of(host)] += 1

    def remove(self, host: str) -> None:
        """Stop counting a connection of `host`."""
        address = network_of(host)
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


class LimitedConfig(Config):
    """uvicorn's configuration, with the counter of connections that its protocols share."""

    def __init__(self, app: Any, connections: Connections, **options: Any) -> None:
        super().__init__(app, http=HttpProtocol, ws=WebSocketProtocol, timeout_keep_alive=IDLE_S, **options)
        self.counted = connections


class Requests(h11.Connection):
    """h11's parser of requests, which also refuses ambiguous body lengths and too many chunks."""

    _chunks = 0

    def next_event(self) -> Any:
        """Return h11's next event. Raises `h11.RemoteProtocolError`, which uvicorn answers with 400."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                raise h11.RemoteProtocolError("A request has either a Content-Length or a Transfer-Encoding.")
        elif isinstance(event, h11.Data):
            self._chunks += 1
            if self._chunks > CHUNKS_LIMIT:
                raise h11.RemoteProtocolError("The body is sent in too many chunks.")
        return event


class HttpProtocol(H11Protocol):
    """One connection of a client, until it becomes a WebSocket or ends."""

    def __init__(self, config: LimitedConfig, server_state: ServerState, app_state: dict[str, Any], **options: Any):
        super().__init__(config, server_state, app_state, **options)
        self.conn = Requests(h11.SERVER, HEADERS_LIMIT)
        self._counted = config.counted
        self._host = ""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        accepted = transport.get_extra_info("socket")
        self._host = self.client[0] if self.client else "local"
        self._counted.add(self._host)
        if reason := self._counted.refusal(self._host, accepted.fileno()):
            security_event(SecurityEvent.CONNECTION_REFUSED, _stranger(self._host), reason, status=503)
            transport.write(FULL)
            _close_for_good(transport, self.loop)
            return
        _bound_stalling(accepted)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._counted.remove(self._host)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_headers()

    def _watch_headers(self) -> None:
        """Close the connection if the client takes longer than `HEADERS_WITHIN_S` to send a request's headers."""
        waits = self.transport.get_protocol() is self and (self.cycle is None or self.cycle.response_complete)
        if not waits or self.transport.is_closing():
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADERS_WITHIN_S, _close_for_good, self.transport, self.loop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket that limits its client to `MESSAGES_PER_S` frames of any kind."""

    def __init__(self, config: LimitedConfig, server_state: ServerState, app_state: dict[str, Any], **options: Any):
        super().__init__(config, server_state, app_state, **options)
        self._counted = config.counted
        self._left = float(MESSAGES_PER_S)
        self._left_at = self.loop.time()
        received = self.conn.events_received
        self.conn.events_received = lambda: self._admitted(received())  # type: ignore[method-assign]

    def connection_lost(self, exc: Exception | None) -> None:
        self._counted.remove(self.client[0] if self.client else "local")
        super().connection_lost(exc)

    def _admitted(self, frames: list[Any]) -> list[Any]:
        """Count frames, and return those within the limit. One too many closes the connection with a reason."""
        now = self.loop.time()
        self._left = min(MESSAGES_PER_S, self._left + (now - self._left_at) * MESSAGES_PER_S) - len(frames)
        self._left_at = now
        if self._left >= 0:
            return frames
        if not self.close_sent:
            self._end_flood()
        return []

    def _end_flood(self) -> None:
        reason = f"more than {MESSAGES_PER_S} messages a second"
        security_event(SecurityEvent.CALL_CUT, _stranger(self.client[0] if self.client else "local"), reason)
        self.stop_keepalive()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": POLICY_VIOLATION, "reason": reason})
        self.conn.fail(POLICY_VIOLATION, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        _close_for_good(self.transport, self.loop)


def _stranger(host: str) -> Principal:
    return Principal("", ToolScope.ANONYMOUS, frozenset(), None, network_of(host), "none")


def _bound_stalling(accepted: socket.socket) -> None:
    """Have the kernel detect clients that are gone, and buffer little for a client that does not read."""
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Only Linux has it; elsewhere the system's own limits hold.
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_S * 1000)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, UNACKNOWLEDGED_S)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15)


def _close_for_good(transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
    """Close the connection, by force if the client does not receive its last bytes."""
    if not transport.is_closing():
        transport.close()
        loop.call_later(CLOSE_WITHIN_S, transport.abort)
