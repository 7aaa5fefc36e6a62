"""Server-sent events: the response, the encoding, and the heartbeat of all streams.

Events that occur together are sent together, a reader keeps only the number of the last event it has seen, and one
timer for each reader makes its heartbeat. FastAPI's and sse-starlette's responses encode every event for every reader
and keep tasks of their own; `docs/architecture.md` says what that costs.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import msgspec
from fastapi.sse import EventSourceResponse
from starlette.types import Send

from backend.sessions.event_log import LoggedEvent

RETRY = b"retry: 2000\n\n"
"""Tells a browser to wait two seconds before it reconnects."""
HEARTBEAT = b": still here\n\n"
"""A comment that keeps proxies from closing a quiet stream."""


class EventStream(EventSourceResponse):
    """Streams the output of a generator, and closes the generator as soon as the reader leaves.

    Starlette would leave that to the garbage collector.
    """

    body_iterator: AsyncGenerator[bytes, None]

    def __init__(self, content: AsyncGenerator[bytes, None]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


def encode_events(events: Sequence[LoggedEvent]) -> bytes:
    """Return `events` as one chunk of a stream; without events, a heartbeat."""
    return b"".join(encode_event(event.type, event.data, event.id) for event in events) or HEARTBEAT


def encode_event(type_: str, data: object, event_id: int | None = None) -> bytes:
    """Return one event of a stream, with `data` as JSON in a single line."""
    number = b"" if event_id is None else b"id: %d\n" % event_id
    return b"event: %b\ndata: %b\n%b\n" % (type_.encode(), msgspec.json.encode(data), number)
