"""The session of a client that begins a call, or asks for a client secret."""

import time

from backend.errors import BadRequest
from backend.realtime.faults import Fault
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.settings.settings import Settings

PROTOCOL = "realtime"
"""The subprotocol that browsers name beside the one that carries their key."""
MODEL_LIMIT = 128
LASTS_UNLIMITED_S = 24 * 3600
"""The lifetime that a session shows if calls have no limit, in seconds."""


def new_session(settings: Settings, session_id: str, given: Json) -> ClientSession:
    """Return the session as the client sees it, with the fields it has `given`. Raises `BadRequest`."""
    lasts_s = settings.limits.session_max_minutes * 60 or LASTS_UNLIMITED_S
    model = given.get("model")
    session = ClientSession(
        f"sess_{session_id}",
        model if isinstance(model, str) and model else settings.realtime.model,
        voice=settings.realtime.voice,
        transcription=settings.provider.transcript_model,
        expires_at=int(time.time()) + lasts_s,
    )
    try:
        session.update({"type": "realtime", **given})
    except Fault as fault:
        raise BadRequest(str(fault), hint="The field is " + fault.param if fault.param else "") from None
    return session
