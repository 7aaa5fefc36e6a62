"""`GET /api/events/{session_id}/levels`: the detector's scores while somebody watches. A stream of its own.

It is no part of the session's events: nothing of it is numbered, kept or sent again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

from fastapi import APIRouter, Response
from fastapi.sse import format_sse_event

from backend.http.context import StreamedSession
from backend.http.events import RETRY_MS, EventStream
from backend.media.endpointing import Levels, Ring
from backend.sessions.handles import session_here
from backend.sessions.registry import Session, SessionState

EVERY_S = 0.2
"""Seconds between two events: ten frames in each."""
QUIET_S = 10.0
"""Seconds without a score after which the stream says it is still there."""

router = APIRouter(tags=["events"])


@router.get("/api/events/{session_id}/levels", responses={200: {"content": {"text/event-stream": {}}}})
async def levels(handle: StreamedSession) -> Response:
    """`levels {threshold, frame_ms, scores}` five times a second; 204 when the call is over or nothing is scored.

    Scores do not travel between processes: of a call that another one has, this one knows none.
    """
    session = session_here(handle)
    if session is None or session.state is SessionState.ENDED or session.levels is None:
        return Response(status_code=204)
    session.levels.require_room()
    return EventStream(_stream(session, session.levels), headers={"X-Accel-Buffering": "no"})


async def _stream(session: Session, watched: Levels) -> AsyncGenerator[bytes, None]:
    with watched.watch() as ring:
        yield format_sse_event(retry=RETRY_MS)
        quiet = 0.0
        while session.state is not SessionState.ENDED:
            await asyncio.sleep(EVERY_S)
            quiet = 0.0 if ring else quiet + EVERY_S
            if ring:
                yield format_sse_event(event="levels", data_str=_taken(watched, ring))
            elif quiet >= QUIET_S:
                quiet = 0.0
                yield format_sse_event(comment="still here")


def _taken(watched: Levels, ring: Ring) -> str:
    scores = [round(ring.popleft(), 3) for _ in range(len(ring))]
    return json.dumps({"threshold": watched.threshold, "frame_ms": 20, "scores": scores}, separators=(",", ":"))
