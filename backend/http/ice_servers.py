"""`POST /api/rtc/ice-servers` gives a caller what the next call may use: STUN servers, and TURN with credentials."""

from __future__ import annotations

from collections.abc import Iterable

from aiortc import RTCIceServer
from fastapi import APIRouter, Request

from backend.access.addresses import address_key
from backend.http.context import Caller, Here
from backend.runtime.json_objects import Json
from backend.settings.rtc import IceServerEntry

router = APIRouter(tags=["signalling"])


@router.post("/api/rtc/ice-servers")
async def ice_servers(request: Request, here: Here, caller: Caller) -> Json:
    """Return `ice_servers`, as browsers take them, and `expires_at` (Unix seconds) of the credentials in them.

    They are the caller's own, and expire; 429 with Retry-After for a caller who could make no call now.
    """
    await here.offers.check(address_key(request), here.now())
    servers, expires_at = here.services.ice_servers.for_caller(caller.user)
    found = [entry.model_dump(exclude_none=True) for entry in listed(servers)]
    return {"ice_servers": found, "expires_at": expires_at}


def listed(servers: Iterable[RTCIceServer]) -> list[IceServerEntry]:
    """Return the servers as browsers write them."""
    return [IceServerEntry(urls=each.urls, username=each.username, credential=each.credential) for each in servers]
