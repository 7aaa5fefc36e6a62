"""`POST /api/rtc/ice-servers` gives a caller the servers of the next call: STUN, and TURN with credentials."""

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
    """Return `ice_servers` in the browsers' form, and `expires_at` of their credentials in Unix seconds.

    The credentials are the caller's own. 429 with Retry-After for a caller who could make no call now.
    """
    await here.offers.check(address_key(request), here.now())
    servers, expires_at = here.services.calls.ice_servers.for_caller(caller.user)
    found = [entry.model_dump(exclude_none=True) for entry in listed(servers)]
    return {"ice_servers": found, "expires_at": expires_at}


def listed(servers: Iterable[RTCIceServer]) -> list[IceServerEntry]:
    """Return the servers in the browsers' form."""
    return [IceServerEntry(urls=each.urls, username=each.username, credential=each.credential) for each in servers]
