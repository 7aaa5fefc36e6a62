"""How a call of a client that speaks another protocol begins: admitted, reserved, and with its session."""

from __future__ import annotations

import time

from backend.errors import BadRequest
from backend.extensions.realtime_endpoint.client_events import ClientFault, check_session
from backend.extensions.realtime_endpoint.session import RealtimeSession
from backend.runtime.json_objects import Json
from backend.settings.settings import Settings

PROTOCOL = "realtime"
"""The subprotocol that browsers name beside the one that carries their key."""
MODEL_LIMIT = 128
LASTS_UNLIMITED_S = 24 * 3600
"""Seconds after which a session is said to expire where calls have no limit."""


def new_session(settings: Settings, session_id: str, given: Json) -> RealtimeSession:
    """Return what the client is shown of its session, with the fields it has `given`. Raises `BadRequest`."""
    lasts_s = settings.session_max_minutes * 60 or LASTS_UNLIMITED_S
    given = {"type": "realtime", **given}
    try:
        check_session(given)
        session = RealtimeSession(
            f"sess_{session_id}",
            given.get("model") or settings.realtime_model,
            voice=settings.realtime_voice,
            transcription=settings.transcript_model,
            expires_at=int(time.time()) + lasts_s,
        )
        session.update(given)
    except ClientFault as fault:
        raise BadRequest(str(fault), hint="The field is " + fault.param if fault.param else "") from None
    return session
