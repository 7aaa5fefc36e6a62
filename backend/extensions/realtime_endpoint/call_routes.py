"""`/v1/realtime/calls`: calls over WebRTC in the OpenAI Realtime protocol, and the programs that follow them.

`POST` takes an SDP offer, by itself or with a session in a form, and answers it. With the
call's id, `rtc_…`, its owner opens the sideband (`GET /v1/realtime?call_id=`) or hangs up.
"""

import asyncio

import msgspec
from fastapi import APIRouter, Request, Response, WebSocket
from starlette.datastructures import UploadFile

from backend.access.addresses import address_key
from backend.access.credentials import Identity
from backend.errors import BadOffer, BadRequest, NotFound
from backend.extensions.realtime_endpoint.event_socket import EventSocket
from backend.extensions.realtime_endpoint.new_session import MODEL_LIMIT, PROTOCOL, new_session
from backend.extensions.realtime_endpoint.sideband import run_sideband
from backend.extensions.realtime_endpoint.webrtc import accept_realtime_offer
from backend.http.bodies import BODY_WITHIN_S
from backend.http.calls import admit_call, answer_offer, reserve_for
from backend.http.context import Caller, Context, Here, billing_of, identity_of
from backend.runtime.json_objects import Json
from backend.sessions.handles import SessionHandle
from backend.transports.base import Transport

CALL = "rtc_"
"""The prefix of a call's id; the id of its session follows."""
SDP = "application/sdp"
FORM = "multipart/form-data"

OFFER_BODY: Json = {
    "required": True,
    "content": {
        SDP: {"schema": {"type": "string"}},
        FORM: {
            "schema": {
                "type": "object",
                "required": ["sdp"],
                "properties": {"sdp": {"type": "string"}, "session": {"type": "object"}},
            }
        },
    },
}

router = APIRouter(tags=["realtime"])


@router.post(
    "/v1/realtime/calls",
    status_code=201,
    response_class=Response,
    responses={201: {"content": {SDP: {"schema": {"type": "string"}}}}},
    openapi_extra={"requestBody": OFFER_BODY},
)
async def place_call(request: Request, here: Here, caller: Caller, model: str = "") -> Response:
    """Answer an SDP offer, and start the call. `session` comes as JSON in the form, or with the client secret.

    422 for a bad offer or session, 429 with Retry-After when there is no room.
    """
    sdp, given = await _read_offer(request)
    named = {"model": model[:MODEL_LIMIT]} if model else {}
    await here.offers.take(caller.principal.address, here.now())
    permit = await admit_call(here, billing_of(request))
    session = await reserve_for(request, permit)

    async def accept(sdp: str) -> tuple[str, Transport]:
        shown = new_session(here.services.settings, session.id, (caller.opens or {}) | named | given)
        answer, transport = await accept_realtime_offer(sdp, here.services.calls.ice_config(), shown)
        session.options, session.follower = shown.options, transport.protocol
        return answer, transport

    answer = await answer_offer(request, session, permit, accept, sdp)
    return Response(answer, 201, {"location": f"/v1/realtime/calls/{CALL}{session.id}"}, SDP)


@router.post("/v1/realtime/calls/{call_id}/hangup", response_class=Response)
async def hang_up(call_id: str, here: Here, caller: Caller) -> Response:
    """End one of the caller's calls. 404 for any other call."""
    session = await find_call(here, caller, call_id)
    await session.end("disconnected")
    return Response()


async def find_call(here: Context, caller: Identity, call_id: str) -> SessionHandle:
    """Return one of the caller's calls. Raises `NotFound`, also for calls of other users."""
    if not call_id.startswith(CALL):
        raise NotFound(
            "No such call.",
            hint="The call's ID is the last part of the Location header in the answer that started the call.",
        )
    return await here.session(call_id.removeprefix(CALL), caller)


async def follow_call(websocket: WebSocket, here: Context, call_id: str) -> None:
    """Let a program of the call's owner follow the call and act on it until it is over. Raises `VoiceError`."""
    await here.messages.take(f"sidebands {address_key(websocket)}", here.now())
    handle = await find_call(here, identity_of(websocket), call_id)
    lost = asyncio.Event()
    events = EventSocket(websocket, lambda _: lost.set())
    sideband = await handle.open_sideband(events.send)
    try:
        await websocket.accept(PROTOCOL if PROTOCOL in websocket.scope["subprotocols"] else None)
    except BaseException:
        await sideband.leave()
        raise
    await run_sideband(websocket, events, sideband, lost)


async def _read_offer(request: Request) -> tuple[str, Json]:
    """Return the offer, and the session that the form holds. Raises `BadRequest`, `TooLarge`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            if kind == SDP:
                return (await request.body()).decode(errors="replace"), {}
            if kind != FORM:
                hint = f"Send the offer as {SDP}, or `sdp` and `session` as {FORM}."
                raise BadRequest("The offer is missing.", hint=hint)
            async with request.form(max_files=2, max_fields=2) as form:
                sdp, session = [await _part(form.get(name)) for name in ("sdp", "session")]
    except TimeoutError:
        raise BadRequest("The body did not arrive in time.") from None
    if not sdp:
        raise BadOffer("The form has no field `sdp`.")
    try:
        return sdp, msgspec.json.decode(session or "{}", type=dict)
    except (msgspec.MsgspecError, RecursionError):
        raise BadRequest("The form's field `session` is not a JSON object.") from None


async def _part(value: UploadFile | str | None) -> str:
    return (await value.read()).decode(errors="replace") if isinstance(value, UploadFile) else value or ""
