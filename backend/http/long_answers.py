"""Long JSON responses (archives, exports, transcripts) are encoded in a thread, because calls share the event loop.

FastAPI would first convert such a response to plain data on the loop: half a second for a task's archive.
"""

import asyncio
from collections.abc import Iterator, Mapping

import msgspec
from starlette.responses import Response

from backend.runtime.json_objects import Json


async def json_response(content: Json, headers: Mapping[str, str] | None = None) -> Response:
    """Return `content` as a JSON response. Its values may be anything that msgspec encodes."""
    body = await asyncio.to_thread(lambda: b"".join(_pieces(content)))
    return Response(body, headers=dict(headers or {}), media_type="application/json")


def _pieces(content: object) -> Iterator[bytes]:
    """Yield the JSON of `content` in pieces, so that the interpreter's lock is held only briefly for each."""
    if isinstance(content, dict) and all(isinstance(name, str) for name in content):
        yield b"{"
        for number, (name, value) in enumerate(content.items()):
            yield (b"," if number else b"") + msgspec.json.encode(name) + b":"
            yield from _pieces(value)
        yield b"}"
    elif isinstance(content, list):
        yield b"["
        for number, value in enumerate(content):
            yield (b"," if number else b"") + msgspec.json.encode(value)
        yield b"]"
    else:
        yield msgspec.json.encode(content)
