"""`/api/input` and `/api/status`: something said to nobody in particular, and how the caller's affairs stand."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, StringConstraints

from backend.coordinator.service import CoordinatorService
from backend.coordinator.store import INPUT_CHARS
from backend.errors import NotFound
from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Context, Here

router = APIRouter(tags=["coordinator"])


class NewInput(BaseModel):
    """`POST /api/input`."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=INPUT_CHARS)]


@router.post("/api/input", status_code=202, openapi_extra=documented(NewInput))
async def put_input(request: Request, here: Here, caller: Caller) -> dict[str, Any]:
    """Have it thought about with the next digest; what comes of it is told. 503 when memory is out of reach."""
    here.messages.take(f"input {caller.user}", here.now())
    body = await read_body(request, NewInput)
    await _coordinator(here).add_input(caller.user, body.text)
    return {"ok": True}


@router.get("/api/status")
async def show_status(here: Here, caller: Caller) -> dict[str, Any]:
    """The coordinator's state, what waits to be told, and the caller's tasks. 503 when memory is out of reach."""
    return await _coordinator(here).status(caller.user)


def _coordinator(here: Context) -> CoordinatorService:
    if here.services.coordinator is None:
        raise NotFound("This server coordinates nothing.")
    return here.services.coordinator
