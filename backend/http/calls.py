"""Every call begins here: it is admitted at the caller's expense, and a session is reserved.

`POST /api/rtc/offer` begins a browser's call, `/ws/{session_id}` carries one without WebRTC, and `POST
/api/rtc/disconnect` ends either. An offer passes its checks in the order of their cost: origin (middleware), rate,
size, parse, a permit, and only then the WebRTC work. A failure after that releases the permit.
"""

import asyncio
import logging

import msgspec
from fastapi import APIRouter, BackgroundTasks, Request, WebSocket
from starlette.requests import ClientDisconnect, HTTPConnection

from backend.access.addresses import address_key
from backend.access.billing import BillingSubject, current_billing
from backend.access.concurrency import Permit, PermitKind
from backend.access.credentials import Identity
from backend.access.principal import Principal
from backend.access.usage import CALL
from backend.errors import BadRequest, Forbidden, NotFound, TooMany, VoiceError
from backend.http.bodies import Disconnect, NewSession, Offer, documented, read_body
from backend.http.context import Caller, Context, Here, billing_of, context_of, identity_of, principal_of, take_permit
from backend.http.errors import note_error, refuse
from backend.sessions.handles import SessionHandle
from backend.sessions.recorder import not_recorded
from backend.sessions.registry import AcceptOffer, CallerLeft
from backend.sessions.session import Session, SessionRequest, SessionState
from backend.storage.memory import Memory, briefly
from backend.transports.websocket_framing import SentToken
from backend.users.profile import UserProfile
from backend.users.profile_updates import AssumePreference, update_profile

PHONE = "telephone"
"""The name of calls by telephone in events and descriptions."""
AS_USUAL = NewSession()
"""A request for a session with the server's settings."""
TOKEN_WITHIN_S = 5.0
"""Seconds a WebSocket client may take to send the session's token."""
UNKNOWN = 4404
"""Close code: the session does not exist, is not the caller's, or is over."""
TAKEN = 4409
"""Close code: the session already has its transport."""

MEMORY_WITHIN_S = 2
"""Seconds memory may take to store a time zone; it fails within one by itself."""

log = logging.getLogger(__name__)
router = APIRouter(tags=["signalling"])


@router.post("/api/rtc/offer", openapi_extra=documented(Offer))
async def offer(request: Request, background: BackgroundTasks, here: Here, caller: Caller) -> dict[str, str]:
    """Answer an SDP offer and start the call. 422 for a bad offer, 429 with Retry-After when the server is full."""
    await here.offers.take(address_key(request), here.now())
    body = await read_body(request, Offer)
    services = here.services
    permit = await admit_call(here, billing_of(request))
    try:
        session = await reserve(request, caller, body, background, permit)
    except TooMany:
        asked = session_request(caller.principal, body)
        placed = await services.calls.sessions.offer_to_peer(body.sdp, asked)
        if placed is None:
            raise
        return {"sdp": placed["sdp"], **ticket(here, caller, placed["session_id"], placed["conversation_id"])}
    answer = await answer_offer(request, session, permit, services.calls.accept_offer, body.sdp)
    return {"sdp": answer, **ticket(here, caller, session.id, session.conversation_id)}


@router.post("/api/rtc/disconnect", openapi_extra=documented(Disconnect))
async def disconnect(request: Request, here: Here, caller: Caller) -> dict[str, bool]:
    """Hang up; `navigator.sendBeacon` may call it. 404 for a session that is not the caller's."""
    body = await read_body(request, Disconnect)
    session = await here.session(body.session_id, caller, body.token, request.headers.get("origin", ""))
    await session.end("disconnected")
    return {"ok": True}


@router.websocket("/ws/{session_id}")
async def call(websocket: WebSocket, session_id: str) -> None:
    """Carry a reserved session's call, and return when the call is over.

    A client without the owner's cookie sends the session's token first: `{"type": "token", "token": …}`.
    """
    try:
        async with await take_permit(websocket, PermitKind.HANDSHAKES):
            await websocket.accept()
            session = await _asked_for(websocket, session_id)
    except TooMany as error:
        await refuse(error, websocket.scope, websocket.receive, websocket.send)
        return
    # Checked only now, with no await before `connect`, so that of two racing sockets one is refused.
    refusal = session if isinstance(session, int) else _refusal(session)
    if isinstance(session, int) or refusal:
        await websocket.close(refusal)
        return
    services = context_of(websocket).services
    current_billing.set(billing_of(websocket))
    services.calls.registry.connect(session, services.calls.attach_socket(websocket), "websocket")
    await services.calls.registry.wait(session)


async def _asked_for(websocket: WebSocket, session_id: str) -> Session | int:
    """Return the session, moved here if another process reserved it, or the close code of a refusal."""
    try:
        handle = await _opened(websocket, session_id)
        session = await context_of(websocket).services.calls.sessions.take(handle)
        if identity_of(websocket).user != session.owner:
            session.share()
        return session
    except BadRequest:
        return TAKEN
    except VoiceError as error:
        note_error(websocket, error)
        return UNKNOWN


async def _opened(websocket: WebSocket, session_id: str) -> SessionHandle:
    """Return the session for its owner, or for a client that sends its token first. Raises `NotFound`."""
    here, caller = context_of(websocket), identity_of(websocket)
    try:
        return await here.session(session_id, caller)
    except NotFound:
        token = await _first_token(websocket)
        session = await here.session(session_id, caller, token, websocket.headers.get("origin", ""))
        opened = here.signatures.opened(token)
        if websocket.scope["state"].get("foreign") and (opened is None or not opened.origin):
            raise  # A page of another site shows a token that was not made for it.
        return session


async def _first_token(websocket: WebSocket) -> str | None:
    """Return the token in the first message; None when the message is late or holds none."""
    try:
        async with asyncio.timeout(TOKEN_WITHIN_S):
            message = await websocket.receive()
        return msgspec.json.decode(message.get("text") or b"", type=SentToken).token
    except (TimeoutError, msgspec.MsgspecError, RecursionError):
        return None


def _refusal(session: Session) -> int:
    if session.state is SessionState.ENDED:
        return UNKNOWN
    return 0 if session.state is SessionState.RESERVED else TAKEN


async def admit_call(here: Context, billed: BillingSubject) -> Permit:
    """Admit a call, and return its permit, which has the session's id. Raises `TooMany` over a limit or a budget."""
    current_billing.set(billed)
    budgets = here.services.people.budgets
    await budgets.admit(billed, CALL)
    return await budgets.concurrency.take(PermitKind.CALLS, billed)


async def reserve(
    request: Request, caller: Identity, asked: NewSession, background: BackgroundTasks, permit: Permit
) -> Session:
    """Reserve a session for the caller, and note the browser's time zone after the response. Raises `TooMany`."""
    here = context_of(request)
    if asked.fingerprint and here.services.settings.access.identify_by_fingerprint:
        await here.callers.recognise(caller, asked.fingerprint, here.services.people.access_store)
    session = await reserve_for(request, permit, asked)
    if asked.time_zone:
        background.add_task(note_time_zone, here.services.data.memory, asked.time_zone, caller.user)
    return session


async def note_time_zone(memory: Memory, zone: str, user: str) -> None:
    """Use the browser's time zone as the user's until they state one, so that "at nine" is their nine. Never raises."""
    try:
        noted = update_profile(memory, user, AssumePreference("time_zone", zone))
    except BadRequest:
        log.info("the time zone of a browser is unknown")
    else:
        await briefly(noted, UserProfile(), within_s=MEMORY_WITHIN_S, warning="a time zone could not be noted")


async def reserve_for(connection: HTTPConnection, permit: Permit, asked: NewSession = AS_USUAL) -> Session:
    """Reserve a session for the caller, which may continue a conversation of theirs. Raises `TooMany` or `Forbidden`.

    The permit is released when there is no session.
    """
    here, principal = context_of(connection), principal_of(connection)
    try:
        if principal.credential == "session":
            raise Forbidden(
                "A session's token gives access to that session only.", hint="Leave it out to start another call."
            )
        if asked.record and not here.services.calls.records:
            raise not_recorded()
        return here.services.calls.registry.reserve(session_request(principal, asked, permit.id))
    except VoiceError:
        await permit.release()
        raise


async def reserve_phone_call(here: Context, billed: BillingSubject) -> Session:
    """Admit a call by telephone and reserve its session. Raises `TooMany` over a limit or a budget, or when full."""
    await here.offers.take(billed.address, here.now())
    permit = await admit_call(here, billed)
    try:
        return here.services.calls.registry.reserve(SessionRequest(billed.user, session_id=permit.id))
    except VoiceError:
        await permit.release()
        raise


def session_request(principal: Principal, asked: NewSession, session_id: str | None = None) -> SessionRequest:
    """Return the request for the caller's session. Raises `Forbidden` for a conversation that is not the caller's."""
    conversation_id = principal.conversation_for(asked.conversation_id)
    return SessionRequest(
        principal.user, conversation_id, asked.interruptions, asked.record, principal.caller_scope, session_id
    )


async def answer_offer(request: Request, session: Session, permit: Permit, accept: AcceptOffer, sdp: str) -> str:
    """Return the SDP answer once the session's call runs. If it fails, the permit is released."""
    services = context_of(request).services
    try:
        answer = await services.calls.registry.answer(session, accept, sdp, has_left=request.is_disconnected)
    except BaseException as error:
        await permit.release()
        if isinstance(error, CallerLeft):
            raise ClientDisconnect from None
        raise
    await services.calls.sessions.announce(session)
    return answer


def ticket(here: Context, caller: Identity, session_id: str, conversation_id: str) -> dict[str, str]:
    """Return a session's ids and the token that opens it, limited to the caller's origin if one was claimed."""
    token = here.signatures.token(session_id, caller.origin)
    return {"session_id": session_id, "conversation_id": conversation_id, "token": token}
