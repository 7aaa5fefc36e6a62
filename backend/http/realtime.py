"""`/v1/realtime`: the OpenAI Realtime protocol, for clients that speak it instead of our own API."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket
from starlette.requests import HTTPConnection

from backend.access.reach import Reach
from backend.budgets.payers import current_payer
from backend.budgets.permits import Permit, PermitKind
from backend.budgets.usage import CALL
from backend.errors import Forbidden, VoiceError
from backend.http.budgets import known_payer, take_permit
from backend.http.context import Context, context_of, identity_of
from backend.http.identity import refuse
from backend.http.limits import address_key
from backend.http.signalling import conversation_for
from backend.sessions.registry import Session
from backend.settings.settings import Settings
from backend.transports.realtime.session import RealtimeSession
from backend.transports.realtime.websocket import RealtimeSocket

PROTOCOL = "realtime"
"""The subprotocol that browsers name beside the one that carries their key."""
LASTS_UNLIMITED_S = 24 * 3600
"""Seconds after which a session is said to expire where calls have no limit."""
MODEL_LIMIT = 128

router = APIRouter(tags=["realtime"])


@router.websocket("/v1/realtime")
async def realtime(websocket: WebSocket, model: Annotated[str, Query(max_length=MODEL_LIMIT)] = "") -> None:
    """Carry a call in the Realtime protocol; returns when it is over. Any `model` is taken: the server has its own."""
    here = context_of(websocket)
    try:
        permit = await admit_client(websocket, here)
        session = await reserve_for(websocket, here, permit)
    except VoiceError as error:
        await refuse(error, websocket.scope, websocket.receive, websocket.send)
        return
    await websocket.accept(PROTOCOL if PROTOCOL in websocket.scope["subprotocols"] else None)
    shown = new_session(here.services.settings, session, model)
    transport = RealtimeSocket(websocket, shown)
    session.options, session.follower = shown.options, transport.protocol
    here.services.registry.connect(session, transport, "realtime")
    await here.services.sessions.announce(session)
    await here.services.registry.wait(session)


async def admit_client(connection: HTTPConnection, here: Context) -> Permit:
    """Count a new call and admit it at its caller's expense. Raises `TooMany` over a limit or a budget."""
    here.offers.take(address_key(connection), here.now())
    payer = await known_payer(connection)
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
            raise Forbidden("A session's token opens that session only.", hint="Use a key, or a client secret.")
        return here.services.registry.reserve(
            caller.user,
            conversation_for(caller.principal, conversation_id),
            reach=Reach.of(caller.principal),
            session_id=permit.id,
        )
    except VoiceError:
        await permit.release()
        raise


def new_session(settings: Settings, session: Session, model: str) -> RealtimeSession:
    """Return what the client is shown of its session."""
    lasts_s = settings.session_max_minutes * 60 or LASTS_UNLIMITED_S
    return RealtimeSession(
        f"sess_{session.id}",
        model or settings.realtime_model,
        voice=settings.realtime_voice,
        transcription=settings.transcript_model,
        expires_at=int(time.time()) + lasts_s,
    )
