"""`/ws/{session_id}`: a call over a WebSocket, for networks without UDP. The framing is the transport's.

The browser learns why it was refused from the close code, which it only gets on a connection that was accepted:
so ownership is checked first, then the socket is accepted, and closed with 4404 or 4409.
"""

from __future__ import annotations

from fastapi import APIRouter, WebSocket

from backend.errors import BadRequest, VoiceError
from backend.http.context import context_of, own_session_or_query
from backend.sessions.registry import Session, SessionState

UNKNOWN = 4404
"""No such session, not the caller's, or over."""
TAKEN = 4409
"""The session has its transport already."""

router = APIRouter()


@router.websocket("/ws/{session_id}")
async def call(websocket: WebSocket, session_id: str) -> None:
    """Carry a reserved session's call; returns when the call is over."""
    session = await _asked_for(websocket, session_id)
    await websocket.accept()
    # Looked at only now, with nothing awaited up to `connect`: of two sockets that race, one is refused.
    refusal = session if isinstance(session, int) else _refusal(session)
    if isinstance(session, int) or refusal:
        await websocket.close(refusal)
        return
    services = context_of(websocket).services
    services.directory.connect(session, services.attach_socket(websocket), "websocket")
    await services.directory.wait(session)


async def _asked_for(websocket: WebSocket, session_id: str) -> Session | int:
    """The session, brought here if it was reserved in another process; or the close code to refuse with."""
    try:
        handle = await own_session_or_query(websocket, session_id)
        return await context_of(websocket).services.sessions.take(handle)
    except BadRequest:
        return TAKEN
    except VoiceError:
        return UNKNOWN


def _refusal(session: Session) -> int:
    if session.state is SessionState.ENDED:
        return UNKNOWN
    return 0 if session.state is SessionState.RESERVED else TAKEN
