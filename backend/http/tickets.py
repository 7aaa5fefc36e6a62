"""`POST /api/tickets` makes a one-time ticket for an event stream: a browser can choose nothing but its address."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from pydantic import BaseModel, StringConstraints
from starlette.requests import HTTPConnection

from backend.access.addresses import address_key
from backend.access.credentials import Identity
from backend.access.principal import Principal
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
    """The stream that a ticket opens, as the one who asked for it."""

    principal: Principal
    session_id: str = ""
    origin: str = ""


_decoder = msgspec.json.Decoder(_Ticket)


@router.post("/api/tickets", openapi_extra=documented(NewTicket))
async def make_ticket(request: Request, here: Here, caller: Caller) -> Json:
    """Return a `ticket` that opens one event stream, once: put it into the stream's address as `?ticket=…`."""
    await here.messages.take(f"tickets {caller.principal.address}", here.now())
    body = await read_body(request, NewTicket)
    session_id = ""
    if body.session_id is not None:
        session_id = (await here.session(body.session_id, caller)).id
    content = msgspec.json.encode(_Ticket(caller.principal, session_id, caller.origin))
    return {"ticket": await here.services.people.access_store.put_ticket(content), "expires_in_s": TICKET_LIFE_S}


async def identity_by_ticket(connection: HTTPConnection, store: AccessStore) -> Identity | None:
    """Return who asked for the ticket in the address; None where there is none.

    Raises `NotAdmitted` for a ticket that is unknown, used or too old, and `MemoryUnavailable`.
    """
    ticket = connection.query_params.get("ticket")
    if ticket is None:
        return None
    content = await store.take_ticket(ticket)
    if content is None:
        raise NotAdmitted("The ticket has been used or has expired.", hint="Create another with POST /api/tickets.")
    found = _decoder.decode(content)
    principal = replace(found.principal, address=address_key(connection))
    opened = OpenedSession(found.session_id, found.origin) if found.session_id else None
    return Identity(principal, known=True, announce=False, opened=opened, origin=found.origin)
