"""`GET /api/events/{session_id}` streams a session's events after `Last-Event-ID`; `/levels` streams scores."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from backend.access.concurrency import PermitKind
from backend.http.context import Here, OwnSession, holding, take_permit
from backend.http.sse import HEARTBEAT, RETRY, EventStream, encode_event, encode_events
from backend.media.endpointing import Levels
from backend.sessions.handles import SessionHandle
from backend.sessions.session import Session, SessionState

LEVELS_EVERY_S = 0.2
"""Seconds between two events with scores; each holds ten frames."""
LEVELS_QUIET_S = 10.0
"""Seconds without a score after which the stream of scores sends a heartbeat."""

router = APIRouter(tags=["events"])


@router.get("/api/events/{session_id}", responses={200: {"content": {"text/event-stream": {}}}})
async def events(
    request: Request,
    here: Here,
    session: OwnSession,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Stream the events after `Last-Event-ID` (sent by a browser that reconnects) or `?after=`, until the session ends.

    204 when the session has ended and no event is left, which tells an EventSource not to reconnect.
    """
    seen = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 16 else after
    if await session.is_read(seen):
        return Response(status_code=204)
    permit = await take_permit(request, PermitKind.STREAMS)
    return EventStream(holding(permit, _stream_events(session, seen, here.heartbeat_s)))


@router.get("/api/events/{session_id}/levels", responses={200: {"content": {"text/event-stream": {}}}})
async def levels(request: Request, handle: OwnSession) -> Response:
    """Stream `levels {threshold, frame_ms, scores}` five times a second. 204 when nothing is scored any longer.

    Scores are no session events: they are not numbered, kept or sent again, and only the call's process has them.
    """
    session = handle.here
    if session is None or session.state is SessionState.ENDED or session.levels is None:
        return Response(status_code=204)
    session.levels.require_room()
    permit = await take_permit(request, PermitKind.STREAMS)
    return EventStream(holding(permit, _stream_levels(session, session.levels)))


async def _stream_events(session: SessionHandle, after: int, heartbeat_s: float) -> AsyncGenerator[bytes, None]:
    yield RETRY
    async with aclosing(session.follow(after, heartbeat_s)) as stream:
        async for batch in stream:
            yield encode_events(batch)


async def _stream_levels(session: Session, levels: Levels) -> AsyncGenerator[bytes, None]:
    with levels.watch() as ring:
        yield RETRY
        quiet_s = 0.0
        while session.state is not SessionState.ENDED:
            await asyncio.sleep(LEVELS_EVERY_S)
            quiet_s = 0.0 if ring else quiet_s + LEVELS_EVERY_S
            if ring:
                scores = [round(ring.popleft(), 3) for _ in range(len(ring))]
                yield encode_event("levels", {"threshold": levels.threshold, "frame_ms": 20, "scores": scores})
            elif quiet_s >= LEVELS_QUIET_S:
                quiet_s = 0.0
                yield HEARTBEAT
