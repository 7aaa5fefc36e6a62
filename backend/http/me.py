"""`/api/me`: what is known of the caller, all of it to take away, and the way to have it forgotten.

Only the cookie says who is asking: a session's token opens that session, not its owner's life. A foreign origin has
been refused before (`origins`). Who comes without a cookie is a stranger, of whom nothing is known.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from backend.errors import VoiceError
from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Context, Here
from backend.http.me_changes import Changes
from backend.sessions.handles import Handle
from backend.users.profile import UserProfile, load_profile
from backend.users.profile_updates import update_profile

router = APIRouter(tags=["me"])


@router.get("/api/me")
async def show_me(here: Here, caller: Caller) -> dict[str, Any]:
    """Preferences, facts, summary, signals and standing instructions. 503 when memory is out of reach."""
    return _shown(here, await load_profile(here.services.memory, caller.user))


@router.patch("/api/me", openapi_extra=documented(Changes))
async def change_me(request: Request, here: Here, caller: Caller) -> dict[str, Any]:
    """Change what is known, and tell the caller's live calls; answers what is known then. 422 for what cannot be."""
    here.messages.take(f"me {caller.user}", here.now())
    changes = await read_body(request, Changes)
    return _shown(here, await update_profile(here.services.memory, caller.user, *changes.updates()))


@router.get("/api/me/export")
async def export_me(here: Here, caller: Caller) -> JSONResponse:
    """Everything that is kept of the caller, by the place it is kept in, as a file."""
    everything = {keeper.name: await keeper.export(caller.user) for keeper in here.services.keepers}
    return JSONResponse(everything, headers={"content-disposition": 'attachment; filename="what-is-known-of-me.json"'})


@router.get("/api/me/notices")
async def show_notices(here: Here, caller: Caller) -> dict[str, Any]:
    """What waits to be told to the caller, oldest first. 503 when memory is out of reach."""
    return {"notices": [msgspec.to_builtins(notice) for notice in await here.services.notices(caller.user)]}


@router.delete("/api/me")
async def forget_me(here: Here, caller: Caller) -> dict[str, Any]:
    """End the caller's calls and erase everything. 503 when some of it could not be erased yet: ask again."""
    own = await here.services.sessions.owned_by(caller.user)
    ended = await asyncio.gather(*map(_delete, own), return_exceptions=True)
    failure = next((error for error in ended if isinstance(error, VoiceError)), None)
    for keeper in here.services.keepers:  # every one, whatever becomes of the one before it
        try:
            await keeper.erase(caller.user)
        except VoiceError as error:
            failure = error
    if failure:
        raise failure
    return {"ok": True}


def _shown(here: Context, known: UserProfile) -> dict[str, Any]:
    empty: dict[str, Any] = {"preferences": {}, "facts": [], "summary": "", "signals": {}, "instructions": []}
    return empty | known.stored() | {"retention_days": here.services.settings.user_retention_days}


async def _delete(session: Handle) -> None:
    await session.end("deleted")
    await session.forget()
