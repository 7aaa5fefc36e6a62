"""The API's description: FastAPI's OpenAPI document, completed, and where it is served.

Routes read their bodies by hand (`bodies`), so that pydantic's definitions stand within each body's schema; OpenAPI
looks for them under `components`. Every refusal has a shape of `errors`, and not FastAPI's. Where API_DOCS allows it,
the document is served at `/openapi.json`, too, and shown at `/docs` by a page of our own, `frontend/docs/`: the usual
one loads scripts from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backend.errors import NotFound
from backend.http.openai_errors import OPENAI_PATHS
from backend.runtime.json_objects import Json

SCHEMAS = "#/components/schemas/"
TEXT: Json = {"type": "string"}


def _error_of(**fields: Json) -> Json:
    """Return the schema of an error with these fields, each of which is always there."""
    error = {"type": "object", "required": list(fields), "properties": fields}
    return {"type": "object", "required": ["error"], "properties": {"error": error}}


ERROR = _error_of(
    message=TEXT | {"description": "What is wrong."},
    hint=TEXT | {"description": "What to do next; may be empty."},
)
OPENAI_ERROR = _error_of(
    message=TEXT | {"description": "What is wrong, and what to do next."},
    type=TEXT,
    param={"type": ["string", "null"], "description": "The field that is wrong."},
    code=TEXT,
)
ANYWHERE = {
    400: "The request cannot be served as it is.",
    401: "A credential is missing, wrong or over.",
    403: "The credential does not grant this, or the page's origin may not call here.",
    404: "There is no such thing, or it is not the caller's own.",
    405: "The path has no such method.",
    409: "Something else is under way.",
    413: "The body is too large, or there should be none.",
    421: "This server does not answer for that host.",
    422: "The request is understood, but wrong in content.",
    429: "A limit is reached; `Retry-After` says when to come back.",
    503: "A service this depends on does not answer, the server is full, or the day's budget is spent.",
}
"""What any route may answer instead, and when."""
UNUSED = ("HTTPValidationError", "ValidationError")
"""FastAPI's own shape of a 422."""


def complete_openapi(app: FastAPI) -> None:
    """Have `app` serve its document with every reference resolved and every refusal described."""
    write: Callable[[], dict[str, Any]] = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(write())
        return app.openapi_schema

    app.openapi = completed  # type: ignore[method-assign]  # as FastAPI documents it


def serve_docs(app: FastAPI, *, allowed: bool) -> None:
    """Have `app` answer at both paths with what they hold, or with 404; before the page's files, which hold `/docs`."""

    async def document(_request: Request) -> Response:
        return JSONResponse(app.openapi())

    async def absent(_request: Request) -> Response:
        raise NotFound("The API documentation is off.", hint="The operator can turn it on: API_DOCS=true.")

    if allowed:
        app.router.routes.append(Route("/openapi.json", document))
        return
    for path in ("/openapi.json", "/docs", "/docs/{file:path}"):
        app.router.routes.append(Route(path, absent))


def _complete(document: Json) -> Json:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for path, operations in document["paths"].items():
        error = "OpenAIError" if path.startswith(OPENAI_PATHS) else "Error"
        for operation in operations.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schemas |= content["schema"].pop("$defs", {})
            operation["responses"] |= {str(status): _refusal(status, why, error) for status, why in ANYWHERE.items()}
    for name in UNUSED:
        schemas.pop(name, None)
    schemas |= {"Error": ERROR, "OpenAIError": OPENAI_ERROR}
    return document


def _refusal(status: int, why: str, error: str) -> Json:
    shown: Json = {"description": why, "content": {"application/json": {"schema": {"$ref": f"{SCHEMAS}{error}"}}}}
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        shown["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return shown
