"""Limits on what strangers send, on real sockets: connections, headers, framing and messages."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from backend.access.addresses import Networks
from backend.app import connections
from backend.app.connections import Connections, LimitedConfig
from tests.support.http_server import serve
from tests.support.running_server import RunningServer, a_browser, running_server

PER_ADDRESS = 40


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """Run a server that counts the connections of 127.0.0.x because it trusts no proxy on this machine."""
    with running_server(TRUSTED_PROXIES="192.0.2.1", CONNECTIONS_PER_ADDRESS=str(PER_ADDRESS)) as running:
        yield running


def opened(server: RunningServer, source: str = "127.0.0.1") -> socket.socket:
    """Open a connection from a local address, with a time limit of 30 s for each operation."""
    port = int(server.url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0))


def request(path: str = "/healthz", *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def answers(connection: socket.socket) -> bytes:
    """Read everything up to the end of the connection."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionError:
        pass  # the server closed the connection before it read all that was sent
    return found


def wait_logged(server: RunningServer, reason: str) -> None:
    """Wait until the security log contains the reason."""
    deadline = time.monotonic() + 20
    while f'"{reason}"' not in (log := (server.folder / "security.log").read_text()):
        assert time.monotonic() < deadline, log
        time.sleep(0.05)


def answer_to(server: RunningServer, *sent: bytes, source: str = "127.0.0.1") -> bytes:
    """Send, and return what the server answers until it closes the connection."""
    with closing(opened(server, source)) as connection:
        for piece in sent:
            connection.sendall(piece)
        return answers(connection)


def wait_healthy(server: RunningServer, source: str = "127.0.0.1") -> None:
    """Wait until the server answers a request from this address."""
    deadline = time.monotonic() + 20
    while not (answer := answer_to(server, request("/healthz", "Connection: close"), source=source)).endswith(b'"ok"}'):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


@pytest.mark.parametrize(
    "lines",
    [[f"Cookie: caller={'x' * 400_000}"], [f"X-{number}: y" for number in range(100_000)]],
    ids=["400 KB cookie", "100,000 headers"],
)
def test_headers_that_are_too_large_are_refused(lines: list[str], server: RunningServer) -> None:
    answer = answer_to(server, request("/healthz", *lines))
    assert not answer or answer.startswith(b"HTTP/1.1 400")
    assert b'"ok"' not in answer


def test_headers_of_usual_size_are_taken(server: RunningServer) -> None:
    cookie = f"Cookie: caller={'x' * 4_000}"
    assert answer_to(server, request("/healthz", cookie, "Connection: close")).startswith(b"HTTP/1.1 200")


def test_a_request_hidden_in_an_ambiguous_body_is_never_answered(server: RunningServer) -> None:
    hidden = request("/readyz")
    lines = ["Content-Length: 5", "Transfer-Encoding: chunked"]
    answer = answer_to(server, request("/api/input", *lines, method="POST") + b"0\r\n\r\n" + hidden)
    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1


def test_pipelined_requests_are_answered_in_order(server: RunningServer) -> None:
    answer = answer_to(server, request("/healthz") * 20 + request("/healthz", "Connection: close"))
    assert answer.count(b"HTTP/1.1 200") == 21


def test_headers_must_arrive_within_ten_seconds(server: RunningServer) -> None:
    began = time.monotonic()
    with closing(opened(server)) as silent, closing(opened(server)) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localh")
        assert answers(slow) == b""
        assert answers(silent) == b""
    assert 9 < time.monotonic() - began < 40


def test_connections_are_limited_for_each_address(server: RunningServer) -> None:
    source, held = "127.0.0.9", []
    try:
        for _ in range(PER_ADDRESS):
            held.append(opened(server, source))
            held[-1].sendall(request())
            assert held[-1].recv(4096).startswith(b"HTTP/1.1 200")
        assert answer_to(server, source=source).startswith(b"HTTP/1.1 503")
        assert answer_to(server, request("/healthz", "Connection: close"), source="127.0.0.10").startswith(
            b"HTTP/1.1 200"
        )
    finally:
        for connection in held:
            connection.close()
    wait_healthy(server, source)
    wait_logged(server, "this address has too many connections")


def test_a_server_that_is_almost_out_of_files_logs_it_and_recovers() -> None:
    with running_server(prefix=["prlimit", "--nofile=300:300"]) as server:
        held = [opened(server, f"127.0.0.{2 + number % 200}") for number in range(400)]
        try:
            wait_logged(server, "this process is almost out of files")
        finally:
            for connection in held:
                connection.close()
        wait_healthy(server)


async def answer_ok(scope: object, receive: object, send: object) -> None:
    """Answer 200 immediately, as an ASGI application."""
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    await send(start)  # type: ignore[operator]
    await send({"type": "http.response.body"})  # type: ignore[operator]


@asynccontextmanager
async def limited() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yield a connection to a server with limits in this process."""
    counted = Connections(10, Networks([]), 100_000)
    async with serve(answer_ok, config=partial(LimitedConfig, connections=counted), lifespan="off") as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        try:
            yield reader, writer
        finally:
            writer.close()


async def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_S", 0.3)
    async with limited() as (reader, writer), asyncio.timeout(5):
        writer.write(request())
        assert (await reader.read()).startswith(b"HTTP/1.1 200")


async def test_the_time_limit_of_headers_holds_for_a_second_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADERS_WITHIN_S", 0.3)
    async with limited() as (reader, writer), asyncio.timeout(5):
        writer.write(request() + b"GET /")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.write(b"heal")
        assert await reader.read() == b""


async def flood(server: RunningServer, frame: bytes, count: int) -> tuple[int, str]:
    """Send a masked frame `count` times over the WebSocket of a call; return the code and the reason of its end."""
    async with a_browser(server) as browser:
        ticket = (await browser.post("/api/sessions", json={})).json()
        address = f"{server.url.replace('http', 'ws')}/ws/{ticket['session_id']}"
        async with connect(address, ping_interval=None) as call:
            await call.send(json.dumps({"type": "token", "token": ticket["token"]}))
            call.transport.write(frame * count)
            try:
                async with asyncio.timeout(30):
                    while True:
                        await call.recv()
            except ConnectionClosed as closed:
                assert closed.rcvd, closed
                return closed.rcvd.code, closed.rcvd.reason
    raise AssertionError("unreachable")


def masked(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    return struct.pack("!BB4x", opcode | (0x80 if final else 0), 0x80 | len(payload)) + payload


@pytest.mark.parametrize(
    "frame",
    [masked(9), masked(10), masked(1, b'{"type":"ping"}'), masked(2, b"\0\0")],
    ids=["pings", "pongs", "texts", "audio"],
)
async def test_more_than_200_messages_a_second_end_the_call(frame: bytes, server: RunningServer) -> None:
    assert await flood(server, frame, 20_000) == (1008, "more than 200 messages a second")


async def test_a_call_with_fewer_messages_goes_on(server: RunningServer) -> None:
    async with a_browser(server) as browser:
        ticket = (await browser.post("/api/sessions", json={})).json()
        address = f"{server.url.replace('http', 'ws')}/ws/{ticket['session_id']}"
        async with connect(address, ping_interval=None) as call:
            await call.send(json.dumps({"type": "token", "token": ticket["token"]}))
            for _ in range(3):
                call.transport.write(masked(9) * 60)
                await asyncio.sleep(0.5)
            await asyncio.wait_for(await call.ping(), 20)
