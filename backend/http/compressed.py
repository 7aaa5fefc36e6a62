"""The page's files go out compressed: each is compressed once and cached. Answers of the API go out as they are.

Compressing costs the event loop a fraction of a millisecond per file, and calls live on that loop: so it happens once
for each version of a file, and never for a stream.
"""

from __future__ import annotations

import gzip
from collections import OrderedDict

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CACHED = 256
"""Files cached compressed."""
WORTH_BYTES = 500
"""Smaller files go out as they are."""
LARGEST_BYTES = 1_000_000
TYPES = ("text/", "application/javascript", "application/json", "image/svg+xml")
NOT_FILES = ("/api/", "/ws/", "/metrics", "/healthz", "/readyz")


class Compressed:
    """Middleware for GET requests of files, from those who understand gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._cache: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _asks_for_a_file(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def compressing(message: Message) -> None:
            """Send a message, or hold it until the file is whole if that is worth compressing."""
            nonlocal start
            if message["type"] == "http.response.start" and _worth_it(message):
                start = message
            elif message["type"] != "http.response.body" or start is None:
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    packed = self._packed(scope["path"], start, body)
                    await send(start)
                    await send({"type": "http.response.body", "body": packed})

        await self._app(scope, receive, compressing)

    def _packed(self, path: str, start: Message, body: bytearray) -> bytes:
        headers = MutableHeaders(scope=start)
        etag = headers["etag"]
        if (path, etag) not in self._cache:
            self._cache[path, etag] = gzip.compress(body, 6, mtime=0)
            if len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        packed = self._cache[path, etag]
        headers["content-encoding"] = "gzip"
        headers["content-length"] = str(len(packed))
        headers["etag"] = f"W/{etag}" if not etag.startswith("W/") else etag
        headers.add_vary_header("Accept-Encoding")
        return packed


def _asks_for_a_file(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(NOT_FILES):
        return False
    return "gzip" in Headers(scope=scope).get("accept-encoding", "")


def _worth_it(start: Message) -> bool:
    """Return whether this is a whole file of a kind that shrinks, with an ETag that names its version."""
    headers = Headers(raw=start["headers"])
    size = headers.get("content-length", "")
    return (
        start["status"] == 200
        and "etag" in headers
        and "content-encoding" not in headers
        and headers.get("content-type", "").startswith(TYPES)
        and size.isdecimal()
        and WORTH_BYTES <= int(size) <= LARGEST_BYTES
    )
