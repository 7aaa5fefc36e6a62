"""Errors reach callers as `{"error": {"message", "hint"}}`, never with a stack or the caller's own words.

Errors under `/v1/` have the shape of the OpenAI API (`openai_errors`), for its clients. Every refused request is
written to the security log, whichever middleware or route refused it: the handlers of errors leave the reason in the
request's state, and a refusal without a reason is known by its status.
"""

import logging
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from backend.access.addresses import address_key
from backend.access.credentials import Identity, token_socket
from backend.errors import (
    Forbidden,
    Misdirected,
    NotAdmitted,
    NotOwner,
    PeerError,
    SignInFailed,
    SignInUnavailable,
    TooMany,
    VoiceError,
)
from backend.http.openai_errors import OPENAI_PATHS, details_of, openai_error, status_of
from backend.observability.request_metrics import route_template
from backend.observability.security_log import Requester, SecurityEvent, security_event

log = logging.getLogger(__name__)

PEER_RETRY_S = 5
"""Seconds after which a caller may try a failed peer again."""
REFUSED = frozenset({401, 403, 421, 429})
"""Statuses that are always refusals. A 404 or 503 is a refusal only if its error says so."""


@dataclass(slots=True)
class Refusal:
    """Why a request was refused, for the log."""

    reason: str
    kind: SecurityEvent = SecurityEvent.REQUEST_REFUSED


@dataclass(frozen=True, slots=True)
class Unidentified:
    """A caller who was refused before identification, and is known by the address alone."""

    address: str
    user: str = ""
    credential: str = "none"


def error_response(
    status: int,
    message: str,
    hint: str = "",
    headers: Mapping[str, str] | None = None,
    *,
    path: str = "",
    **more: object,
) -> JSONResponse:
    """Return an error in the shape for callers of `path`; `more` are further fields of its kind."""
    if path.startswith(OPENAI_PATHS):
        return JSONResponse({"error": openai_error(status, f"{message} {hint}".strip()) | more}, status, headers)
    return JSONResponse({"error": {"message": message, "hint": hint, **more}}, status, headers)


def install(app: FastAPI) -> None:
    """Make all foreseen errors of `app`'s routes answer in the same shape."""
    app.add_exception_handler(VoiceError, _voice_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)


def explain(problems: Iterable[Mapping[str, Any]]) -> str:
    """Return pydantic's problems as one sentence: places and reasons, without values."""
    lines = [f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in problems]
    return "The request is not valid: " + "; ".join(line.removeprefix(": ") for line in lines[:5])


class ErrorBoundary:
    """This middleware logs refusals by status, and unforeseen errors under an id, which is all that the caller sees."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            match message["type"]:
                case "http.response.start" | "websocket.http.response.start":
                    begun = True
                    _log_refusal(scope, message["status"])
                case "websocket.accept":
                    begun = True
                case "websocket.close":
                    _log_refusal(scope, message.get("code", 1000) if begun else HTTPStatus.FORBIDDEN)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except (ClientDisconnect, WebSocketDisconnect):
            log.debug("the caller left before the answer")
        except Exception:
            if scope["type"] == "lifespan":
                raise
            number = secrets.token_hex(4)
            log.exception("unexpected error %s", number)
            if begun:
                raise  # The response has begun, so the server cuts the connection.
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1011, "reason": ""})
                return
            hint = f"Try again. The details are in the server's log, under {number}."
            answer = error_response(500, "Something went wrong on the server.", hint, path=scope["path"])
            await answer(scope, receive, send)


def note_error(connection: HTTPConnection, error: VoiceError) -> None:
    """Leave the reason for the security log in the request's state, if `error` is a refusal and not a fault."""
    if isinstance(error, NotOwner):
        refusal = Refusal("not theirs", SecurityEvent.SESSION_REFUSED)
    elif isinstance(error, SignInFailed | SignInUnavailable):
        refusal = Refusal(str(error), SecurityEvent.SIGN_IN_FAILED)
    elif isinstance(error, NotAdmitted | Forbidden | Misdirected | TooMany):
        refusal = Refusal(str(error))
    else:
        return
    connection.scope.setdefault("state", {})["refusal"] = refusal


async def _voice_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, VoiceError)
    note_error(request, error)
    return refusal_response(error, request.url.path)


def refusal_response(error: VoiceError, path: str) -> JSONResponse:
    """Return the response to `error` at `path`, with its headers."""
    status, headers = status_of(error), dict[str, str]()
    if isinstance(error, PeerError) and error.retryable:
        headers["Retry-After"] = str(PEER_RETRY_S)
    if isinstance(error, NotAdmitted):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(error.retry_after_s)
    if status >= 500:
        log.warning("answered %d: %s: %s", status, type(error).__name__, error)
    more: dict[str, object] = details_of(error) if path.startswith(OPENAI_PATHS) else {}
    return error_response(status, str(error), error.hint, headers, path=path, **more)


async def refuse(error: VoiceError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with `error`, or close a WebSocket that is not open yet, and log the reason.

    A client with its token in the address gets the reason in a message, a client of the OpenAI API in the response.
    """
    note_error(HTTPConnection(scope), error)
    answers = scope["path"].startswith("/v1/") and "websocket.http.response" in scope.get("extensions", {})
    if scope["type"] == "websocket" and not answers:
        if write_refusal := token_socket(scope):
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.send", "bytes": write_refusal(f"{error} {error.hint}".strip())})
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
    else:
        await refusal_response(error, scope["path"])(scope, receive, send)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    hint = "See /api/openapi.json for what this route takes."
    return error_response(422, explain(error.errors()), hint, path=request.url.path)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    phrase = f"{HTTPStatus(error.status_code).phrase}."
    return error_response(error.status_code, phrase, headers=error.headers, path=request.url.path)


def _log_refusal(scope: Scope, status: int) -> None:
    refusal = scope.get("state", {}).get("refusal")
    if status in REFUSED:
        refusal = refusal or Refusal(HTTPStatus(status).phrase)
    if refusal is not None:
        security_event(refusal.kind, _who(scope), refusal.reason, status=int(status), route=_route(scope))


def _route(scope: Scope) -> str:
    """Return the route, or the beginning of the path for a request that was refused before routing."""
    template = route_template(scope)
    shown = scope.get("state", {}).get("prefix", template) if template == "other" else template
    return f"{scope.get('method', 'WebSocket')} {shown}"


def _who(scope: Scope) -> Requester:
    identity = scope.get("state", {}).get("identity")
    return identity.principal if isinstance(identity, Identity) else Unidentified(address_key(HTTPConnection(scope)))
