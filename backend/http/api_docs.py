"""`/openapi.json` and `/docs`: the API's description, and a page of our own that shows it, where API_DOCS allows both.

The page is `frontend/docs/`, served with the other files: its scripts are ours, as the page's policy demands.
"""

from __future__ import annotations

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backend.errors import NotFound


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
