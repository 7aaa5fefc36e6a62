"""Shared transcripts: `/api/links` and `POST /api/conversations/{id}/links` for owners, `/shared/{token}` for all.

A token is a link's id, which cannot be guessed. Readers get only words and the time of sharing: no id, no user, no
other time, and no cookie.
"""

import re
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import FileResponse

from backend.access.addresses import address_key
from backend.access.rates import Buckets
from backend.access.usage import WRITE
from backend.citations import as_json
from backend.errors import BadRequest, CallerError, Forbidden, Gone, NotFound
from backend.extensions.sharing.shared_links import SharedLink, SharedLinks
from backend.http.bodies import documented, read_body
from backend.http.context import CERTAIN, Context, Here, principal_of, spend
from backend.http.long_answers import json_response
from backend.runtime.json_objects import Json
from backend.storage.ledger.recall import recall_until
from backend.storage.messages import Message, without_retried

USUAL_DAYS = 7.0
READS_PER_MINUTE = 60
"""The most requests for shared transcripts by one address; the page makes two."""
ID = re.compile(r"[A-Za-z0-9_-]{22}")
UNLISTED = {"x-robots-tag": "noindex, nofollow, noarchive", "cache-control": "no-store"}
"""Headers that keep a shared transcript out of search engines and caches."""

router = APIRouter(tags=["shared transcripts"], dependencies=CERTAIN)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Shared transcripts of this server."""

    links: SharedLinks
    readers: Buckets
    """The limits on readers of shared transcripts."""
    days: float
    """The longest life of a link, in days; 0: sharing is off."""


class NewLink(BaseModel):
    """The body of `POST /api/conversations/{id}/links`."""

    days: float | None = Field(None, gt=0, allow_inf_nan=False)
    """The life of the link; left out: a week, or less if the server allows less."""


# --- the owner ------------------------------------------------------------------------------------------


@router.post("/api/conversations/{conversation_id}/links", status_code=201, openapi_extra=documented(NewLink))
async def share_conversation(request: Request, here: Here, conversation_id: str) -> Json:
    """Create a public link to a conversation as it is now. 404 if it is empty, 422 for too long a life or too many."""
    owner, longest = _owner(request), here.of(Sharing).days
    await here.messages.take(f"links {owner}", here.now())
    if not longest:
        hint = "The operator can allow it: SHARING__DAYS."
        raise BadRequest("Conversations cannot be shared on this server.", hint=hint)
    days = (await read_body(request, NewLink)).days or min(USUAL_DAYS, longest)
    if days > longest:
        raise BadRequest("The link would be valid for too long.", hint=f"At most {longest:g} days are possible.")
    if not await _said(here, owner, conversation_id):
        raise NotFound("No such conversation.", hint="It may have expired, or been deleted.")
    await spend(request, WRITE)
    return _shown(await here.of(Sharing).links.share(owner, conversation_id, days=days))


@router.get("/api/links")
async def list_links(request: Request, here: Here) -> Json:
    """List the caller's working links, newest first. `days`: the longest life of a new link; 0: sharing is off."""
    links = await here.of(Sharing).links.of(_owner(request))
    return {"days": here.of(Sharing).days, "links": [_shown(link) for link in links]}


@router.delete("/api/links/{link_id}")
async def revoke_link(request: Request, here: Here, link_id: str) -> Json:
    """Revoke a link: from now on it shows nothing. 404 when the caller has no such link."""
    if not (ID.fullmatch(link_id) and await here.of(Sharing).links.revoke(_owner(request), link_id)):
        raise NotFound("No such link.", hint="It may have expired, or been revoked.")
    return {"ok": True}


# --- readers --------------------------------------------------------------------------------------------


@router.get("/api/shared/{token}")
async def read_shared(request: Request, here: Here, token: str) -> Response:
    """Return the words of a conversation up to its sharing. 410 once the link has expired or was revoked."""
    link, messages = await _shared(request, here, token)
    shown = [{"role": each.role, "content": each.content, "citations": as_json(each.citations)} for each in messages]
    content = {"shared_at": link.shared_at, "expires_at": link.expires_at, "messages": shown}
    return await json_response(content, UNLISTED)


@router.get("/shared/{token}", include_in_schema=False)
async def show_shared(request: Request, here: Here, token: str) -> Response:
    """Return the page that shows the transcript, with the status of its data."""
    status = 200
    try:
        await _shared(request, here, token)
    except CallerError as error:
        status = error.status
    return FileResponse(here.services.frontend / "shared.html", status, UNLISTED)


async def _shared(request: Request, here: Context, token: str) -> tuple[SharedLink, list[Message]]:
    """Return the link of a token, and its messages. Raises `NotFound`, `Gone`, `TooMany`."""
    await here.of(Sharing).readers.take(address_key(request), here.now())
    if not ID.fullmatch(token):
        raise NotFound("There is no such page.", hint="Check that you have the whole address.")
    found = await here.of(Sharing).links.find(token)
    messages = await _said(here, found[0], found[1].conversation_id, found[1].shared_at) if found else []
    if found is None or not messages:
        hint = "The link has expired or was revoked. Ask the person who sent it for a new one."
        raise Gone("This conversation is no longer shared.", hint=hint)
    return found[1], messages


# --- both -----------------------------------------------------------------------------------------------


async def _said(here: Context, owner: str, conversation_id: str, until: float | None = None) -> list[Message]:
    """Return the messages of both sides in a conversation, up to a moment if one is given, oldest first."""
    messages = await recall_until(here.services.data.memory, here.services.data.ledger, owner, conversation_id, until)
    return [message for message in without_retried(messages) if message.said]


def _owner(request: Request) -> str:
    """Return the id of the caller. Raises `Forbidden` if they have access to one conversation only."""
    principal = principal_of(request)
    if principal.conversation is not None:
        raise Forbidden("This token may not share conversations.", hint="Only the user can share a conversation.")
    return principal.user


def _shown(link: SharedLink) -> Json:
    return {
        "id": link.id,
        "conversation_id": link.conversation_id,
        "path": f"/shared/{link.id}",
        "shared_at": link.shared_at,
        "expires_at": link.expires_at,
    }
