"""Reading a session's events across broken connections."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from responder_thinker import signalling
from responder_thinker.signalling import ReceivedEvent, Ticket, page_events
from tests.support.http_server import serve

TICKET = Ticket("s1", "secret")


class Server:
    """Streams `parts`, one a connection, or answers with a status; 404 after the last."""

    def __init__(self, *parts: bytes | int) -> None:
        self.parts = list(parts)
        self.asked: list[tuple[str, str]] = []
        self.app = Starlette(routes=[Route("/api/events/s1", self.stream)])

    async def stream(self, request: Request) -> Response:
        self.asked.append((request.headers["last-event-id"], request.headers["authorization"]))
        if not self.parts:
            return Response(status_code=404)
        part = self.parts.pop(0)
        if isinstance(part, int):
            return Response(status_code=part)
        return StreamingResponse(self._body(part), media_type="text/event-stream")

    async def _body(self, part: bytes) -> AsyncIterator[bytes]:
        yield part


async def read(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[ReceivedEvent]:
    monkeypatch.setattr(signalling, "RECONNECT_AFTER_S", 0.01)
    async with serve(server.app, lifespan="off") as url, httpx2.AsyncClient(base_url=url) as http, asyncio.timeout(30):
        return [event async for event in page_events(http, TICKET)]


def event(number: int, name: str, data: str = "{}") -> bytes:
    return f"id: {number}\nevent: {name}\ndata: {data}\n\n".encode()


async def test_a_broken_stream_continues_where_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(
        b"retry: 2000\n\n" + event(1, "floor", '{"floor":"user"}') + event(2, "floor"),
        b": still here\n\n" + event(3, "session_ended", '{"reason":"idle"}'),
    )
    assert await read(server, monkeypatch) == [
        ReceivedEvent(1, "floor", {"floor": "user"}),
        ReceivedEvent(2, "floor", {}),
        ReceivedEvent(3, "session_ended", {"reason": "idle"}),
    ]
    assert server.asked == [("0", "Bearer secret"), ("2", "Bearer secret")]


async def test_a_deleted_session_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await read(Server(), monkeypatch) == []


async def test_a_server_without_an_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = event(1, "session_ended", '{"reason":"server_lost"}')
    assert await read(Server(503, ended), monkeypatch) == [ReceivedEvent(1, "session_ended", {"reason": "server_lost"})]
