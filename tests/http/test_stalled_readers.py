"""A stalled reader of events costs at most 1 MiB, and gets a gap event when it reads again."""

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncGenerator
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from backend.access.addresses import Networks
from backend.app.connections import Connections, LimitedConfig
from backend.http.sse import EventStream, encode_events
from backend.sessions.event_log import EventLog, PageMessage
from tests.support.http_server import serve

READERS = 8
EVENTS = 2_000
EVENT_BYTES = 20_000
MIB = 1024 * 1024


async def test_a_stalled_reader_costs_at_most_1_mib_and_gets_a_gap() -> None:
    logs = [EventLog() for _ in range(READERS)]

    async def stream(log: EventLog) -> AsyncGenerator[bytes, None]:
        async for events in log.follow():
            yield encode_events(events)

    async def events(request: Request) -> EventStream:
        return EventStream(stream(logs[int(request.path_params["number"])]))

    app = Starlette(routes=[Route("/{number}", events)])
    counted = Connections(0, Networks([]), 100_000)
    async with serve(app, config=partial(LimitedConfig, connections=counted), lifespan="off") as url:
        port = int(url.rpartition(":")[2])
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in logs]
        for number, each in enumerate(sockets):
            each.sendall(f"GET /{number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await asyncio.sleep(0.2)
        tracemalloc.start()
        for at in range(EVENTS):
            for log in logs:
                log.append(PageMessage("n", {"n": at, "text": f"{at:05}" + "x" * EVENT_BYTES}))
            await asyncio.sleep(0)
        await asyncio.sleep(0.2)
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert used < READERS * MIB, f"{used / READERS / MIB:.2f} MiB a reader"
        for log in logs:
            log.close()
        read = await asyncio.to_thread(_all, sockets[0])
        for each in sockets:
            each.close()
    assert b"event: gap" in read
    assert f"id: {EVENTS}\n".encode() in read
    assert len(read) < 4 * MIB, "the reader got more than the bytes in flight and the log"


def _all(connection: socket.socket) -> bytes:
    connection.settimeout(30)
    read = b""
    while not read.endswith(b"0\r\n\r\n"):
        read += connection.recv(65_536)
    return read
