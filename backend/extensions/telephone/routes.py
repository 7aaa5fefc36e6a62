"""The routes for telephone providers: `POST /{provider}/voice`, their webhook, and `/{provider}/media`, the audio.

The provider signs the webhook's request. The answer is XML that streams the call to this server, with a token for the
admitted session that is bound to the provider's id of the call. Only that token opens the socket, within a minute. It
opens nothing else, since the provider sees it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Request, Response, WebSocket
from itsdangerous import BadSignature

from backend.access.concurrency import PermitKind
from backend.access.credentials import BETWEEN, LONGEST
from backend.errors import BadRequest, Forbidden, NotFound, TooMany, VoiceError
from backend.extensions.telephone.framing import ProviderFraming, StreamStarted, checked_id
from backend.extensions.telephone.media_stream import MediaStreamTransport
from backend.extensions.telephone.provider import Telephone, TelephoneProvider, WebhookRequest
from backend.http.calls import PHONE, reserve_phone_call
from backend.http.context import Context, Here, context_of, take_permit
from backend.http.errors import note_error, refuse
from backend.sessions.session import Session, SessionState

FIELDS_LIMIT = 100
STARTED_WITHIN_S = 5.0
"""Seconds that a media stream may take to name its call."""
TOKEN_AGE_S = 60
"""Seconds that a provider may take to begin a stream after its webhook's answer."""
SALT = "phone-stream"
REFUSED = 1008
PROVIDERS = ("twilio", "telnyx", "plivo")


async def incoming_call(request: Request, here: Context, name: str) -> Response:
    """Answer a telephone provider's webhook with XML that streams the call to this server, or refuses it as busy.

    403 without the provider's signature, 404 where the provider is not configured.
    """
    provider = _provider(here, name)
    asked = await _webhook_request(request, provider)
    if not provider.is_signed(asked):
        hint = f"Set {name.upper()}__PUBLIC_URL to the address that {name.capitalize()} calls."
        raise Forbidden("The signature of the request is not valid.", hint=hint)
    call = checked_id(asked.field(provider.call_field))
    try:
        session = await reserve_phone_call(here, here.callers.billed(asked.field("From")))
    except TooMany:
        return _xml(provider.reject())
    scheme, host = ("wss" if asked.urls[0].startswith("https") else "ws"), urlsplit(asked.urls[0]).netloc
    token = here.signatures.signer(SALT).sign(f"{session.id}{BETWEEN}{call}").decode()
    return _xml(provider.accept(f"{scheme}://{host}/{name}/media", token))


async def media_stream(websocket: WebSocket, name: str) -> None:
    """Carry the call of the stream's token until the call is over."""
    here = context_of(websocket)
    try:
        provider = _provider(here, name)
        framing = provider.framing()
        async with await take_permit(websocket, PermitKind.UNSTARTED):
            await websocket.accept()
            started = await _started(websocket, framing)
            session = await _session_of(here, started)
    except TooMany as error:
        await refuse(error, websocket.scope, websocket.receive, websocket.send)
        return
    except VoiceError as error:
        note_error(websocket, error)
        await websocket.close(REFUSED)
        return
    if session.state is not SessionState.RESERVED:  # no await before `connect`, so only one of two can win
        await websocket.close(REFUSED)
        return
    registry = here.services.calls.registry
    registry.connect(session, MediaStreamTransport(websocket, framing, started, provider), PHONE)
    await registry.wait(session)


def _webhook(name: str) -> Callable[..., Awaitable[Response]]:
    async def webhook(request: Request, here: Here) -> Response:
        """Answer a telephone provider's signed request for a new call, with XML in the provider's form."""
        return await incoming_call(request, here, name)

    return webhook


def _media(name: str) -> Callable[[WebSocket], Awaitable[None]]:
    async def media(websocket: WebSocket) -> None:
        await media_stream(websocket, name)

    return media


router = APIRouter(tags=["telephone"])
for _name in PROVIDERS:
    router.add_api_route(
        f"/{_name}/voice", _webhook(_name), methods=["POST"], name=f"{_name}_voice", response_class=Response
    )
    router.add_api_websocket_route(f"/{_name}/media", _media(_name))


def _provider(here: Context, name: str) -> TelephoneProvider:
    provider = here.of(Telephone).providers.get(name)
    if provider is None:
        raise NotFound("Calls of this telephone provider are off.", hint=f"Set the account, {name.upper()}__….")
    return provider


async def _webhook_request(request: Request, provider: TelephoneProvider) -> WebhookRequest:
    """Read the request, with the addresses that the provider may have called. Raises `BadRequest`."""
    try:
        body = (await request.body()).decode()
        form = parse_qsl(body, keep_blank_values=True, max_num_fields=FIELDS_LIMIT)
    except ValueError:
        raise BadRequest("The body is not a form.") from None
    query = f"?{request.url.query}" if request.url.query else ""
    base = provider.public_url.rstrip("/") or f"{request.url.scheme}://{request.url.netloc}"
    return WebhookRequest(_addresses(base, request.url.path + query), dict(request.headers), form, body)


def _addresses(base: str, path: str) -> list[str]:
    """Return the address with and without the default port of its scheme."""
    parts = urlsplit(base)
    port = {"https": 443, "http": 80}[parts.scheme]
    host = parts.netloc.removesuffix(f":{port}")
    others = [f"{parts.scheme}://{host}{path}", f"{parts.scheme}://{host}:{port}{path}"] if _has_no_port(host) else []
    return list(dict.fromkeys([base + path, *others]))


def _has_no_port(host: str) -> bool:
    return ":" not in host.rpartition("]")[2]


async def _started(websocket: WebSocket, framing: ProviderFraming) -> StreamStarted:
    """Return the message that names the call. Raises `BadRequest` if it does not come in time."""
    try:
        async with asyncio.timeout(STARTED_WITHIN_S):
            for _ in range(3):  # `connected` may come first
                received = await websocket.receive()
                if received["type"] == "websocket.disconnect":
                    break
                if (message := framing.read(received.get("text") or "")).event == "start":
                    return framing.started(message)
    except TimeoutError:
        pass
    raise BadRequest("The media stream does not name its call.")


async def _session_of(here: Context, started: StreamStarted) -> Session:
    """Return the session of the stream; move it to this process if another one reserved it. Raises `NotFound`."""
    token = started.parameters.get("token", "")[:LONGEST]
    try:
        admitted = here.signatures.signer(SALT).unsign(token, max_age=TOKEN_AGE_S).decode()
    except (BadSignature, ValueError):
        admitted = ""
    session_id, _, call = admitted.partition(BETWEEN)
    if call != started.call:
        raise NotFound("The media stream does not belong to an admitted call.")
    handle = await here.services.calls.sessions.find(session_id)
    return await here.services.calls.sessions.take(handle)


def _xml(text: str) -> Response:
    return Response(text, media_type="text/xml")
