"""`/api/rtvi` and `/api/rtvi/offer`: RTVI, the protocol of Pipecat's client kits, over a WebSocket and over WebRTC."""

from typing import Annotated

from fastapi import APIRouter, Request, WebSocket
from pydantic import BaseModel, Field

from backend.access.addresses import address_key
from backend.access.credentials import Identity
from backend.errors import NotFound, VoiceError
from backend.extensions.rtvi.webrtc import accept_rtvi_offer
from backend.extensions.rtvi.websocket import RtviSocket
from backend.http.bodies import NewSession, documented, read_body
from backend.http.calls import admit_call, answer_offer, reserve_for
from backend.http.context import Caller, Context, Here, billing_of, context_of, principal_of
from backend.http.errors import refuse
from backend.transports.base import Transport

SOCKET = "/api/rtvi"

router = APIRouter(tags=["rtvi"])


class RtviOffer(BaseModel):
    """The body of `POST /api/rtvi/offer`."""

    sdp: str = Field(min_length=1)
    pc_id: Annotated[str, Field(max_length=64)] | None = None
    """The call that this connection continues."""


class RtviCandidates(BaseModel):
    """The body of `PATCH /api/rtvi/offer`."""

    pc_id: Annotated[str, Field(max_length=64)] | None = None


@router.websocket(SOCKET)
async def rtvi(websocket: WebSocket) -> None:
    """Carry a call of an RTVI client until it is over."""
    here = context_of(websocket)
    try:
        await here.offers.take(principal_of(websocket).address, here.now())
        session = await reserve_for(websocket, await admit_call(here, billing_of(websocket)))
    except VoiceError as error:
        await refuse(error, websocket.scope, websocket.receive, websocket.send)
        return
    await websocket.accept()
    transport = RtviSocket(websocket)
    session.follower = transport.protocol
    here.services.calls.registry.connect(session, transport, "rtvi")
    await here.services.calls.sessions.announce(session)
    await here.services.calls.registry.wait(session)


@router.post("/api/rtvi/offer", openapi_extra=documented(RtviOffer))
async def offer(request: Request, here: Here, caller: Caller) -> dict[str, str]:
    """Answer an RTVI client's SDP offer and start a call. An offer that names a call continues its conversation."""
    await here.offers.take(address_key(request), here.now())
    body = await read_body(request, RtviOffer)
    conversation_id = await _ended(here, caller, body.pc_id) if body.pc_id else None
    permit = await admit_call(here, billing_of(request))
    session = await reserve_for(request, permit, NewSession(conversation_id=conversation_id))

    async def accept(sdp: str) -> tuple[str, Transport]:
        answer, transport = await accept_rtvi_offer(sdp, here.services.calls.ice_config())
        session.follower = transport.protocol
        return answer, transport

    answer = await answer_offer(request, session, permit, accept, body.sdp)
    return {"sdp": answer, "type": "answer", "pc_id": session.id}


@router.patch("/api/rtvi/offer", openapi_extra=documented(RtviCandidates))
async def candidates(request: Request, here: Here, caller: Caller) -> dict[str, str]:
    """Accept a client's ICE candidates. They are not used: the client checks our addresses, and its first packet shows
    its own.

    404 for a call that is not the caller's.
    """
    body = await read_body(request, RtviCandidates)
    await here.session(body.pc_id or "", caller)
    return {"status": "success"}


async def _ended(here: Context, caller: Identity, session_id: str) -> str | None:
    """End the call that a client wants to continue, and return its conversation; None if the call is gone."""
    try:
        session = await here.session(session_id, caller)
    except NotFound:
        return None
    await session.end("disconnected")
    return (await session.describe())["conversation_id"]
