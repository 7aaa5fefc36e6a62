"""`GET /api/events/{session_id}`: a session's events as a server-sent stream, replayed after `Last-Event-ID`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, TypeVar

import msgspec
from fastapi import APIRouter, Header, Query, Response
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Send

from backend.http.context import Here, StreamedSession
from backend.sessions.event_log import LoggedEvent
from backend.sessions.handles import Handle

RETRY_MS = 2_000
"""Milliseconds a browser waits before it connects again."""
HEARTBEAT = format_sse_event(comment="still here")

T = TypeVar("T")

router = APIRouter(tags=["events"])


@router.get("/api/events/{session_id}", responses={200: {"content": {"text/event-stream": {}}}})
async def events(
    here: Here,
    session: StreamedSession,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Events after `Last-Event-ID` (a browser that reconnects sends it) or `?after=`, then new ones until the end.

    204 when it has ended and nothing is left: it tells an EventSource not to come back.
    """
    seen = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 16 else after
    if await session.told(seen):
        return Response(status_code=204)
    return EventStream(_stream(session, seen, here.heartbeat_s), headers={"X-Accel-Buffering": "no"})


class EventStream(EventSourceResponse):
    """Closes its generator at once when the reader leaves, instead of leaving that to the garbage collector."""

    body_iterator: AsyncGenerator[bytes, None]

    def __init__(self, content: AsyncGenerator[bytes, None], headers: dict[str, str]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-cache"} | headers)

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self.body_iterator):
            await super().stream_response(send)


async def _stream(session: Handle, after: int, heartbeat_s: float) -> AsyncGenerator[bytes, None]:
    yield format_sse_event(retry=RETRY_MS)
    async with aclosing(session.follow(after, heartbeat_s)) as stream:
        async for events in stream:
            yield encode(events)


async def with_heartbeat(events: AsyncIterator[T], every_s: float) -> AsyncGenerator[T | None, None]:
    """The events, and None whenever none came for `every_s` seconds."""
    coming: asyncio.Task[T | None] | None = None
    try:
        while True:
            # A task, so that a heartbeat does not cancel the reader it is waiting for.
            coming = coming or asyncio.ensure_future(_next(events))
            await asyncio.wait([coming], timeout=every_s)
            if not coming.done():
                yield None
                continue
            event, coming = coming.result(), None
            if event is None:
                return
            yield event
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait([coming])


def encode(events: Sequence[LoggedEvent]) -> bytes:
    """On the wire: what came together goes together; nothing is a heartbeat."""
    return b"".join(map(_encoded, events)) or HEARTBEAT


def _encoded(event: LoggedEvent) -> bytes:
    """JSON has no line breaks, so the data is one line; `format_sse_event` looks for them, and costs more than all."""
    return b"event: %b\ndata: %b\nid: %d\n\n" % (event.type.encode(), msgspec.json.encode(event.data), event.id)


async def _next(events: AsyncIterator[T]) -> T | None:
    return await anext(events, None)
