"""`GET /api/tools`: what the caller may have done for them, and which other servers' tools are there."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from backend.http.context import Here

router = APIRouter(tags=["tools"])


@router.get("/api/tools")
async def tools(here: Here, client: Literal["voice", "chat"] = "chat") -> dict[str, Any]:
    """Name, description, parameters, flags and source of each; `client`: in a call, or in a typed conversation."""
    return here.services.tools(client)
