"""Request bodies have at most 64 KB, or more with a picture. Routes read them by hand, and pydantic checks them.

Routes read the body themselves after the cheaper refusals (origin, rate). FastAPI would read a body that is declared as
a parameter before them.
"""

import asyncio
import re
from typing import Annotated, TypeVar

from fastapi import Request
from fastapi.openapi.models import RequestBody
from pydantic import BaseModel, Field, StrictBool, StringConstraints, ValidationError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.errors import BadRequest, TooLarge
from backend.http.errors import error_response, explain
from backend.http.openapi import SCHEMAS
from backend.media.pictures import ENCODED_LIMIT

BODY_LIMIT = 64 * 1024
"""The most bytes of a body."""
WITH_PICTURE = re.compile(r"/api/sessions/[^/]+/pictures/?")
PICTURE_BODY_LIMIT = ENCODED_LIMIT + 32 * 1024
"""The most bytes of a body with a picture and the words beside it."""
BODY_WITHIN_S = 10
"""Seconds a body may take to arrive."""
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MESSAGE_LIMIT = 2_000
"""The most characters of one typed message."""

Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]
CONVERSATION_ID = r"^[A-Za-z0-9_-]{1,64}$"
ConversationId = Annotated[str, StringConstraints(pattern=CONVERSATION_ID)]
"""The id that the client chooses for a conversation. It is sought among the caller's own conversations only."""
TimeZone = Annotated[str, StringConstraints(max_length=64)]
"""The browser's time zone as an IANA name. It is a hint: an unknown name is ignored."""
Model = TypeVar("Model", bound=BaseModel)


class NewSession(BaseModel):
    """`POST /api/sessions`."""

    fingerprint: Fingerprint | None = None
    time_zone: TimeZone | None = None
    conversation_id: ConversationId | None = None
    interruptions: StrictBool | None = None
    """Whether the caller's voice may interrupt replies; left out: the server's setting."""
    record: StrictBool = False
    """Whether the caller agrees to a recording from the beginning; refused where the server does not record."""


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


class ShownPicture(BaseModel):
    """`POST /api/sessions/{id}/pictures`."""

    picture: str
    """A JPEG or PNG of at most 512 KB, as a data URL."""
    text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MESSAGE_LIMIT)] = ""
    """The words typed with the picture; may be empty."""


class Interruptions(BaseModel):
    """`POST /api/sessions/{id}/interruptions`."""

    allowed: StrictBool


class BodyLimit:
    """This middleware raises `TooLarge` for a body over its limit: before the first byte if the length is declared."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, limit = Headers(scope=scope), limit_of(scope["path"])
        length = headers.get("content-length", "")
        declared = int(length) if length.isdecimal() and len(length) < 20 else 0
        if scope["method"] not in WITH_BODY and (declared > limit or "transfer-encoding" in headers):
            await error_response(413, "This request must not have a body.", path=scope["path"])(scope, receive, send)
            return
        received = declared if declared > limit else 0  # in bytes; a body that declares too many is not read

        async def limited() -> Message:
            nonlocal received
            message: Message = await receive() if received <= limit else {}
            received += len(message.get("body", b""))
            if received > limit:
                raise TooLarge("The body is too large.", hint=f"Send at most {limit // 1024} KB.")
            return message

        await self._app(scope, limited, send)


def limit_of(path: str) -> int:
    """Return the most bytes that a body sent to `path` may have."""
    return PICTURE_BODY_LIMIT if WITH_PICTURE.fullmatch(path) else BODY_LIMIT


async def read_raw(request: Request) -> bytes:
    """Return the body's bytes. Raises `BadRequest`, `TooLarge`, or Starlette's `ClientDisconnect`."""
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            return await request.body()
    except TimeoutError:
        raise BadRequest("The body did not arrive in time.") from None


async def read_body(request: Request, model: type[Model]) -> Model:
    """Return the body as `model`, whatever its content type (`sendBeacon` declares JSON as text). Empty means `{}`.

    Raises `BadRequest`, which repeats nothing of the body, `TooLarge`, or Starlette's `ClientDisconnect`.
    """
    raw = await read_raw(request)
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise BadRequest(explain(problems), hint="See /api/openapi.json for what this route takes.") from None


def documented(model: type[BaseModel]) -> dict[str, RequestBody]:
    """Return `openapi_extra` for a route that reads `model` by hand. `openapi` moves its definitions."""
    content = {"application/json": {"schema": model.model_json_schema(ref_template=f"{SCHEMAS}{{model}}")}}
    return {"requestBody": RequestBody.model_validate({"required": True, "content": content})}
