"""The page's files, with the routes that describe the server to it: `GET /api/config` and `GET /api/tools`."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, FastAPI

from backend.http.context import Caller, Here
from backend.http.services import PageConfig
from backend.runtime.json_objects import Json

log = logging.getLogger(__name__)

router = APIRouter(tags=["page"])


@router.get("/api/config", response_model_exclude_none=True)
async def config(here: Here) -> PageConfig:
    """Return the Responder, the memory, the ICE servers, the Thinkers and the limits of this server."""
    return replace(here.services.page_config(), loading=here.services.state.loading())


def serve_page(app: FastAPI, frontend: Path) -> None:
    """Serve the files in `frontend` at `/`, below every other route, each with an ETag."""
    if not frontend.is_dir():
        log.warning("there is no page in %s: only the API is served", frontend)
        return
    app.frontend("/", directory=frontend, fallback=None)


@router.get("/api/tools")
async def tools(here: Here, caller: Caller, client: Literal["voice", "chat"] = "chat") -> Json:
    """List the caller's tools for calls (`voice`) or typed conversations, with parameters, flags and source."""
    shown = here.services.work.toolbox.described(client, caller.principal.caller_scope)
    return {"tools": shown, "servers": here.services.state.tool_servers()}
