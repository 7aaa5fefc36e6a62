"""A small HTTP/1.1 server on loopback: a function makes its answers, faulty ones, too.

async with serving(lambda request: json_reply({"ok": True})) as server:
    ... server.url, server.requests
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Request:
    """A client's request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body, read as JSON."""
        return json.loads(self.body)


@dataclass
class Reply:
    """An answer. `parts` are sent one after the other; a float among them is a pause in seconds.

    `breaks_off` closes the connection without ending the body, and without parts before any answer.
    """

    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    parts: Sequence[bytes | float] = ()
    delay_s: float = 0.0
    breaks_off: bool = False


Handler = Callable[[Request], Reply | Awaitable[Reply]]


def json_reply(value: Any, status: int = 200, delay_s: float = 0.0, headers: dict[str, str] | None = None) -> Reply:
    """Return `value` as JSON."""
    return Reply(status, headers=headers or {}, parts=[json.dumps(value).encode()], delay_s=delay_s)


def text_reply(text: str, status: int = 200, content_type: str = "text/html") -> Reply:
    """Return `text` as it is."""
    return Reply(status, content_type, parts=[text.encode()])


@dataclass
class ApiServer:
    """The running server."""

    handler: Handler
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    open: int = 0
    """The number of requests that are being answered now."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed its connection before the whole answer was sent."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: read one request, send one answer, and close."""
        try:
            if request := await _read_request(reader):
                self.requests.append(request)
                self.open += 1
                try:
                    await self._answer(request, reader, writer)
                finally:
                    self.open -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply = self.handler(request)
        if not isinstance(reply, Reply):
            reply = await reply
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await self._pause(reply.delay_s, gone)
            if reply.breaks_off and not reply.parts:
                return
            head = {"content-type": reply.content_type, "transfer-encoding": "chunked", "connection": "close"}
            lines = [f"{key}: {value}" for key, value in (head | reply.headers).items()]
            writer.write("\r\n".join([f"HTTP/1.1 {reply.status} Scripted", *lines, "", ""]).encode())
            for part in reply.parts:
                if isinstance(part, float):
                    await self._pause(part, gone)
                elif part:
                    writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                    await writer.drain()
            if not reply.breaks_off:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await gone

    async def _pause(self, seconds: float, gone: asyncio.Future[bytes]) -> None:
        if seconds:
            await asyncio.wait({gone}, timeout=seconds)
        if gone.done() and not gone.cancelled():
            self.hung_up.set()
            raise ConnectionResetError


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[ApiServer]:
    """Yield a server that answers with `handler` until the block ends."""
    api = ApiServer(handler)
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(api.serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield api
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
