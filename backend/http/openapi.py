"""This module completes and serves FastAPI's OpenAPI document.

Routes read their bodies by hand (`bodies`), so pydantic's definitions stand within each body's schema; OpenAPI expects
them under `components`. Every refusal has a shape of `errors`, not FastAPI's. The document is also served at
`/openapi.json`, and shown at `/docs` by a page of this server, `frontend/docs/`, since FastAPI's page loads scripts
from elsewhere.
"""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backend.http.openai_errors import OPENAI_PATHS
from backend.runtime.json_objects import Json

SCHEMAS = "#/components/schemas/"
TEXT: Json = {"type": "string"}


def _error_of(**fields: Json) -> Json:
    """Return the schema of an error with these fields, all of them required."""
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
WHY = "A refusal, or a failure; `Retry-After` says when to come back after 429 and 503."
UNUSED = ("HTTPValidationError", "ValidationError")
"""FastAPI's own shape of a 422."""


def complete_openapi(app: FastAPI) -> None:
    """Make `app` serve its document with all references resolved and refusals described."""
    write: Callable[[], dict[str, Any]] = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(write())
        return app.openapi_schema

    async def document(_request: Request) -> Response:
        return JSONResponse(completed())

    app.openapi = completed  # type: ignore[method-assign]  # as FastAPI documents it
    app.router.routes.append(Route("/openapi.json", document))


def _complete(document: Json) -> Json:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for path, operations in document["paths"].items():
        error = "OpenAIError" if path.startswith(OPENAI_PATHS) else "Error"
        for operation in operations.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schemas |= content["schema"].pop("$defs", {})
            operation["responses"].pop("422", None)  # FastAPI's
            refusal = {"application/json": {"schema": {"$ref": f"{SCHEMAS}{error}"}}}
            operation["responses"]["default"] = {"description": WHY, "content": refusal}
    for name in UNUSED:
        schemas.pop(name, None)
    schemas |= {"Error": ERROR, "OpenAIError": OPENAI_ERROR}
    return document
