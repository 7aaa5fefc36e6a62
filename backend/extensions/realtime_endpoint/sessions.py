"""How a call of a client that speaks another protocol begins: admitted, reserved, and with its session."""

from __future__ import annotations

import time
from collections import Counter

from starlette.requests import HTTPConnection

from backend.access.addresses import address_key
from backend.access.payers import current_payer
from backend.access.permits import Permit, PermitKind
from backend.access.reach import Reach
from backend.access.usage import CALL
from backend.errors import BadRequest, Forbidden, VoiceError
from backend.extensions.realtime_endpoint.client_events import ClientFault, check_session
from backend.extensions.realtime_endpoint.session import RealtimeSession
from backend.http.budgets import payer_of, take_permit
from backend.http.context import Context, identity_of
from backend.http.signalling import conversation_for
from backend.runtime.json_objects import Json
from backend.sessions.registry import Session
from backend.settings.settings import Settings

PROTOCOL = "realtime"
"""The subprotocol that browsers name beside the one that carries their key."""
MODEL_LIMIT = 128
LASTS_UNLIMITED_S = 24 * 3600
"""Seconds after which a session is said to expire where calls have no limit."""


async def admit_client(connection: HTTPConnection, here: Context) -> Permit:
    """Count a new call and admit it at its caller's expense. Raises `TooMany` over a limit or a budget."""
    await here.offers.take(address_key(connection), here.now())
    payer = payer_of(connection)
    current_payer.set(payer)
    await here.services.budgets.admit(payer, CALL, Counter())
    return await take_permit(connection, PermitKind.CALLS)


async def reserve_for(
    connection: HTTPConnection, here: Context, permit: Permit, conversation_id: str | None = None
) -> Session:
    """Reserve a session for the caller; releases the permit when there is no room. Raises `TooMany`.

    `conversation_id` names a conversation of theirs to continue.
    """
    caller = identity_of(connection)
    try:
        if caller.principal.credential == "session":
            raise Forbidden(
                "A session's token gives access to that session only.", hint="Use a key, or a client secret."
            )
        return here.services.registry.reserve(
            caller.user,
            conversation_for(caller.principal, conversation_id),
            reach=Reach.of(caller.principal),
            session_id=permit.id,
        )
    except VoiceError:
        await permit.release()
        raise


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
