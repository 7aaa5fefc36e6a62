"""`/mode`: how the server thinks and speaks for the caller, by voice and by text."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from backend.http.context import Caller, Here
from backend.users.profile import load_profile
from backend.users.profile_updates import SetMode, update_profile

router = APIRouter(tags=["modes"])


@router.get("/mode")
async def show_mode(here: Here, caller: Caller) -> dict[str, Any]:
    """The caller's mode, and all there are. 503 when memory is out of reach."""
    modes = here.services.chat.modes
    profile = await load_profile(here.services.memory, caller.user)
    return {"mode": modes.chosen(profile).name, "modes": [modes.named(name).shown() for name in modes.names]}


@router.post("/mode/{mode}")
async def choose_mode(here: Here, caller: Caller, mode: str) -> dict[str, Any]:
    """Choose a mode for the caller; a call that is under way changes with it. 404, with all there are, if unknown."""
    here.messages.take(f"mode {caller.user}", here.now())
    chosen = here.services.chat.modes.get(mode)
    await update_profile(here.services.memory, caller.user, SetMode(chosen.name))
    return {"mode": chosen.name}
