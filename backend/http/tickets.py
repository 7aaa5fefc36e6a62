"""`POST /api/tickets` makes a one-time ticket for an event stream, whose address is all that a browser can choose."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from pydantic import BaseModel, StringConstraints
from starlette.requests import HTTPConnection

from backend.access.addresses import address_key
from backend.access.credentials import Identity
from backend.access.principal import Grant, Principal, Tier
from backend.access.signatures import OpenedSession
from backend.access.store import TICKET_LIFE_S, AccessStore
from backend.errors import NotAdmitted
from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Here
from backend.runtime.json_objects import Json

STREAMS = ("/api/events/", "/api/me/events")
"""Beginnings of the paths that take a ticket."""

router = APIRouter(tags=["tickets"])


class NewTicket(BaseModel):
    """`POST /api/tickets`: for the session's events, or, without one, for the caller's own."""

    session_id: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = None


class _Ticket(msgspec.Struct, frozen=True):
    """What a ticket opens: a stream, as the one who asked for it."""

    principal: _Shown
    session_id: str = ""
    origin: str = ""


class _Shown(msgspec.Struct, frozen=True):
    user: str
    tier: int
    grants: list[str]
    credential: str
    conversation: str | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Ticket)


@router.post("/api/tickets", openapi_extra=documented(NewTicket))
async def make_ticket(request: Request, here: Here, caller: Caller) -> Json:
    """Return a `ticket` that opens one event stream, once: put it into the stream's address as `?ticket=…`."""
    await here.messages.take(f"tickets {caller.principal.address}", here.now())
    body = await read_body(request, NewTicket)
    session_id = ""
    if body.session_id is not None:
        session_id = (await here.session(body.session_id, caller)).id
    p = caller.principal
    shown = _Shown(p.user, p.tier, sorted(p.grants), p.credential, p.conversation)
    content = _encoder.encode(_Ticket(shown, session_id, caller.origin))
    return {"ticket": await here.services.people.access_store.put_ticket(content), "expires_in_s": TICKET_LIFE_S}


async def identity_by_ticket(connection: HTTPConnection, store: AccessStore) -> Identity | None:
    """Return who asked for the ticket in the address; None where there is none.

    Raises `NotAdmitted` for a ticket that is unknown, used or too old, and `MemoryUnavailable`.
    """
    ticket = connection.query_params.get("ticket")
    if ticket is None or not connection.url.path.startswith(STREAMS):
        return None
    content = await store.take_ticket(ticket)
    if content is None:
        raise NotAdmitted("The ticket has been used or has expired.", hint="Create another with POST /api/tickets.")
    found = _decoder.decode(content)
    shown = found.principal
    principal = Principal(
        user=shown.user,
        tier=Tier(shown.tier),
        grants=frozenset(map(Grant, shown.grants)),
        tools=None,
        address=address_key(connection),
        credential=shown.credential,
        conversation=shown.conversation,
    )
    opened = OpenedSession(found.session_id, found.origin) if found.session_id else None
    return Identity(principal, known=True, announce=False, opened=opened, origin=found.origin)
