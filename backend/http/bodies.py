"""Request bodies have at most 64 KB; routes read them by hand, and pydantic checks them.

Routes read their body themselves, after the cheaper refusals (origin, rate): declared as a parameter, FastAPI
would have read it before any of them.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, TypeVar

from fastapi import Request
from pydantic import BaseModel, Field, StringConstraints, ValidationError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.errors import BadRequest, TooLarge
from backend.http.errors import error_response, explain
from backend.runtime.json_objects import Json

BODY_LIMIT = 64 * 1024
"""Bytes a body may have."""
BODY_WITHIN_S = 10
"""Seconds a body may take to arrive."""
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MESSAGE_LIMIT = 2_000
"""Characters of one typed message."""

Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]
ConversationId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""Chosen by the client that begins it; only the caller's own conversations are searched for it."""
TimeZone = Annotated[str, StringConstraints(max_length=64)]
"""The browser's time zone as an IANA name; a hint, so an unknown one is ignored rather than refused."""
Model = TypeVar("Model", bound=BaseModel)


class NewSession(BaseModel):
    """`POST /api/sessions`."""

    fingerprint: Fingerprint | None = None
    time_zone: TimeZone | None = None
    conversation_id: ConversationId | None = None


class Offer(NewSession):
    """`POST /api/rtc/offer`."""

    sdp: str = Field(min_length=1)


class Disconnect(BaseModel):
    """`POST /api/rtc/disconnect`."""

    session_id: str = Field(max_length=64)
    token: str | None = None


class TypedMessage(BaseModel):
    """`POST /api/sessions/{id}/messages`."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MESSAGE_LIMIT)]


class BodyLimit:
    """Middleware: a body over the limit raises `TooLarge` where it is read, a declared one before its first byte."""

    def __init__(self, app: ASGIApp, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] not in WITH_BODY and (
            _declared(scope) > self._limit or "transfer-encoding" in Headers(scope=scope)
        ):
            await error_response(413, "This request takes no body.")(scope, receive, send)
            return
        await self._app(scope, self._limited(scope, receive), send)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        received = 0

        async def limited() -> Message:
            nonlocal received
            if not received and _declared(scope) > self._limit:
                raise self._too_large()
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> TooLarge:
        return TooLarge("The body is too large.", hint=f"At most {self._limit // 1024} KB are read.")


async def read_body(request: Request, model: type[Model]) -> Model:
    """Return the body as `model`, whatever its content type says (`sendBeacon` calls JSON text). An empty body is `{}`.

    Raises `BadRequest` without repeating what was sent, `TooLarge`, or Starlette's `ClientDisconnect`.
    """
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            raw = await request.body()
    except TimeoutError:
        raise BadRequest("The body did not arrive in time.") from None
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise BadRequest(explain(problems), hint="See /api/openapi.json for what this route takes.") from None


def documented(model: type[BaseModel]) -> Json:
    """Return `openapi_extra` for a route that reads `model` by hand."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": model.model_json_schema()}}}}


def _declared(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else 0
