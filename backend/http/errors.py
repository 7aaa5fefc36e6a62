"""Errors reach callers as `{"error": {"message", "hint"}}`, never with a stack or the caller's own words.

Those of `/v1/` have the shape of the OpenAI API (`openai_errors`): its clients call there.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from backend.errors import (
    Forbidden,
    NotAdmitted,
    NotTheirs,
    PeerError,
    SignInFailed,
    SignInUnavailable,
    TooMany,
    VoiceError,
)
from backend.http.openai_errors import OPENAI_PATHS, details_of, openai_error, status_of
from backend.http.refusals import Refusal, explain_refusal
from backend.observability.security_log import SecurityEvent

log = logging.getLogger(__name__)

PEER_RETRY_S = 5
"""Seconds after which a failed peer is worth another try."""


def error_response(
    status: int,
    message: str,
    hint: str = "",
    headers: Mapping[str, str] | None = None,
    *,
    path: str = "",
    **more: object,
) -> JSONResponse:
    """Return an error in the shape that callers of `path` receive; `more` is what its kind has to say beyond that."""
    if path.startswith(OPENAI_PATHS):
        return JSONResponse({"error": openai_error(status, f"{message} {hint}".strip()) | more}, status, headers)
    return JSONResponse({"error": {"message": message, "hint": hint, **more}}, status, headers)


def install(app: FastAPI) -> None:
    """Make every foreseen error of `app`'s routes answer in the one shape."""
    app.add_exception_handler(VoiceError, _voice_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)


def explain(problems: Iterable[Mapping[str, Any]]) -> str:
    """Return pydantic's complaints as one sentence: where and why, without the values."""
    lines = [f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in problems]
    return "The request is not valid: " + "; ".join(line.removeprefix(": ") for line in lines[:5])


class ErrorBoundary:
    """Middleware: an unforeseen error is logged under an id, and the caller is given that id only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] in ("http.response.start", "websocket.accept")
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
                raise  # too late for an answer: the server cuts the connection
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1011, "reason": ""})
                return
            hint = f"Try again. The details are in the server's log, under {number}."
            answer = error_response(500, "Something went wrong on the server.", hint, path=scope["path"])
            await answer(scope, receive, send)


def note_error(connection: HTTPConnection, error: VoiceError) -> None:
    """Leave for the security log why the request is refused, if `error` refuses it rather than finds it wrong."""
    if isinstance(error, NotTheirs):
        explain_refusal(connection, Refusal("not theirs", SecurityEvent.SESSION_REFUSED))
    elif isinstance(error, SignInFailed | SignInUnavailable):
        explain_refusal(connection, Refusal(str(error), SecurityEvent.SIGN_IN_FAILED))
    elif isinstance(error, NotAdmitted | Forbidden | TooMany):
        explain_refusal(connection, Refusal(str(error)))


async def _voice_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, VoiceError)
    note_error(request, error)
    return refusal_response(error, request.url.path)


def refusal_response(error: VoiceError, path: str) -> JSONResponse:
    """Return the answer that `error` gets at `path`, with the headers that belong to it."""
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


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    hint = "See /api/openapi.json for what this route takes."
    return error_response(422, explain(error.errors()), hint, path=request.url.path)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    phrase = f"{HTTPStatus(error.status_code).phrase}."
    return error_response(error.status_code, phrase, headers=error.headers, path=request.url.path)
