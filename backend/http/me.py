"""`/api/me`: what is known of the caller, all of it to take away, and the way to have it forgotten.

Only the cookie says who is asking: a session's token opens that session, not its owner's life. A foreign origin has
been refused before (`origins`). Who comes without a cookie is a stranger, of whom nothing is known.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from backend.errors import VoiceError
from backend.http.context import Caller, Here
from backend.memory.user import UserContext

router = APIRouter(tags=["me"])


@router.get("/api/me")
async def show_me(here: Here, caller: Caller) -> dict[str, Any]:
    """Preferences, facts, summary and signals. 503 when memory is out of reach."""
    known = UserContext.read(await here.services.memory.user_context(caller.user)).stored()
    empty: dict[str, Any] = {"preferences": {}, "facts": [], "summary": "", "signals": {}}
    return empty | known | {"retention_days": here.services.settings.user_retention_days}


@router.get("/api/me/export")
async def export_me(here: Here, caller: Caller) -> JSONResponse:
    """Everything that is kept of the caller, by the place it is kept in, as a file."""
    everything = {keeper.name: await keeper.export(caller.user) for keeper in here.services.keepers}
    return JSONResponse(everything, headers={"content-disposition": 'attachment; filename="what-is-known-of-me.json"'})


@router.delete("/api/me")
async def forget_me(here: Here, caller: Caller) -> dict[str, Any]:
    """End the caller's calls and erase everything. 503 when some of it could not be erased yet: ask again."""
    directory = here.services.directory
    own = directory.owned_by(caller.user)
    await asyncio.gather(*(directory.end(session, "deleted") for session in own))
    for session in own:
        directory.forget(session)
    failure: VoiceError | None = None
    for keeper in here.services.keepers:  # every one, whatever becomes of the one before it
        try:
            await keeper.erase(caller.user)
        except VoiceError as error:
            failure = error
    if failure:
        raise failure
    return {"ok": True}
