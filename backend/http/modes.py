"""`/mode`: how the server thinks and speaks for the caller, by voice and by text."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from backend.http.context import Caller, Here
from backend.users.profile import SetMode, update_user

router = APIRouter(tags=["modes"])


@router.get("/mode")
async def show_mode(here: Here, caller: Caller) -> dict[str, Any]:
    """The caller's mode, and all there are. 503 when memory is out of reach."""
    modes = here.services.chat.modes
    known = await here.services.memory.user_context(caller.user)
    return {"mode": modes.chosen(known).name, "modes": [modes.named(name).shown() for name in modes.names]}


@router.post("/mode/{mode}")
async def choose_mode(here: Here, caller: Caller, mode: str) -> dict[str, Any]:
    """Choose a mode for the caller; a call that is under way changes with it. 404, with all there are, if unknown."""
    here.messages.take(f"mode {caller.user}", here.now())
    chosen = here.services.chat.modes.get(mode)
    await update_user(here.services.memory, caller.user, SetMode(chosen.name))
    return {"mode": chosen.name}
