"""`/v1/realtime`: the OpenAI Realtime protocol, for clients that use it instead of this server's API."""

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, WebSocket
from pydantic import BaseModel, Field

from backend.access.usage import WRITE
from backend.errors import Forbidden, VoiceError
from backend.extensions.realtime_endpoint.call_routes import follow_call
from backend.extensions.realtime_endpoint.client_secrets import LIFE_MAX_S, LIFE_MIN_S, make_secret
from backend.extensions.realtime_endpoint.new_session import MODEL_LIMIT, PROTOCOL, new_session
from backend.extensions.realtime_endpoint.websocket import RealtimeSocket
from backend.http.bodies import documented, read_body
from backend.http.calls import admit_call, reserve_for
from backend.http.context import (
    SESSION_ID_LIMIT,
    Caller,
    Here,
    billing_of,
    context_of,
    identity_of,
    principal_of,
    spend,
)
from backend.http.errors import refuse
from backend.runtime.json_objects import Json

router = APIRouter(tags=["realtime"])


class ExpiresAfter(BaseModel):
    """The lifetime of a client secret."""

    anchor: Literal["created_at"] = "created_at"
    seconds: int = Field(default=600, ge=LIFE_MIN_S, le=LIFE_MAX_S)


class NewClientSecret(BaseModel):
    """The body of `POST /v1/realtime/client_secrets`."""

    expires_after: ExpiresAfter = ExpiresAfter()
    session: dict[str, Any] = {}
    """The fields of a `session.update`."""


@router.post("/v1/realtime/client_secrets", openapi_extra=documented(NewClientSecret))
async def make_client_secret(request: Request, here: Here, caller: Caller) -> Json:
    """Return a secret, `ek_…`, with which a page begins calls in this session, as the caller and at their expense."""
    await here.messages.take(f"client secrets {caller.principal.address}", here.now())
    if caller.opens is not None or caller.principal.credential == "session":
        raise Forbidden("A client secret cannot create another.", hint="Use the key or the cookie that created it.")
    body = await read_body(request, NewClientSecret)
    shown = new_session(here.services.settings, secrets.token_urlsafe(16), body.session).shown()
    await spend(request, WRITE)
    value, expires_at = await make_secret(here, caller, body.session, body.expires_after.seconds)
    return {"value": value, "expires_at": expires_at, "session": shown}


@router.websocket("/v1/realtime")
async def realtime(
    websocket: WebSocket,
    model: Annotated[str, Query(max_length=MODEL_LIMIT)] = "",
    call_id: Annotated[str, Query(max_length=SESSION_ID_LIMIT)] = "",
) -> None:
    """Carry a call in the Realtime protocol, or follow the call `call_id`, until it is over.

    `model` may be anything: the server uses its own models.
    """
    here = context_of(websocket)
    try:
        if call_id:
            await follow_call(websocket, here, call_id)
            return
        await here.offers.take(principal_of(websocket).address, here.now())
        session = await reserve_for(websocket, await admit_call(here, billing_of(websocket)))
    except VoiceError as error:
        await refuse(error, websocket.scope, websocket.receive, websocket.send)
        return
    await websocket.accept(PROTOCOL if PROTOCOL in websocket.scope["subprotocols"] else None)
    named = identity_of(websocket).opens or {}
    shown = new_session(here.services.settings, session.id, named | ({"model": model} if model else {}))
    transport = RealtimeSocket(websocket, shown)
    session.options, session.follower = shown.options, transport.protocol
    here.services.calls.registry.connect(session, transport, "realtime")
    await here.services.calls.sessions.announce(session)
    await here.services.calls.registry.wait(session)
