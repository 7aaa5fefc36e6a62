"""`/api/me` shows, changes, exports and erases the caller's data; `/mode` shows and changes the caller's mode.

Only the cookie identifies the caller: a session's token opens that session, and none of its owner's other data. Foreign
origins were refused before (`origins`). A visitor without a cookie is a stranger.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from backend.access.concurrency import PermitKind
from backend.access.credentials import Identity
from backend.access.usage import WRITE
from backend.errors import MemoryUnavailable, VoiceError
from backend.http.admission import set_cookie
from backend.http.bodies import documented, read_body
from backend.http.context import CERTAIN, Caller, Context, Here, billing_of, holding, spending, take_permit
from backend.http.long_answers import json_response
from backend.http.page_streams import PageStream
from backend.http.sse import RETRY, EventStream, encode_events
from backend.observability.security_log import SecurityEvent, security_event
from backend.page_events import NoticeChanged, NoticeContent, UserContextChanged
from backend.runtime.json_objects import Json
from backend.sessions.handles import SessionHandle
from backend.users.profile import UserProfile, load_profile
from backend.users.profile_updates import (
    AddFact,
    AddInstruction,
    DropFact,
    DropInstruction,
    DropPreference,
    SetMode,
    SetPreference,
    WatchTicker,
    WriteSummary,
    update_profile,
)

CHANGES_LIMIT = 50
"""The most changes in one request."""


Change = Annotated[
    SetPreference | DropPreference | WatchTicker | AddFact | DropFact | WriteSummary | AddInstruction | DropInstruction,
    Field(discriminator="op"),
]


class ProfileChanges(BaseModel):
    """`PATCH /api/me`: all changes are made, or, if one is impossible, none."""

    model_config = ConfigDict(extra="forbid")

    changes: Annotated[list[Change], Field(min_length=1, max_length=CHANGES_LIMIT)]


router = APIRouter(tags=["me"])


@router.get("/api/me")
async def show_me(here: Here, caller: Caller) -> Json:
    """Return preferences, facts, summary, signals and standing instructions. 503 when memory is out of reach."""
    return _shown(here, await load_profile(here.services.data.memory, caller.user))


@router.patch("/api/me", openapi_extra=documented(ProfileChanges))
async def change_me(request: Request, here: Here, caller: Caller) -> Json:
    """Change the profile, in the caller's live calls, too, and return the new one. 422 for an impossible value.

    409, and nothing is changed, when a change is about a field of the profile that this server cannot read.
    """
    await here.messages.take(f"me {caller.user}", here.now())
    body = await read_body(request, ProfileChanges)
    async with spending(request, WRITE):
        return _shown(here, await update_profile(here.services.data.memory, caller.user, *body.changes, whole=True))


@router.get("/api/me/usage")
async def show_usage(request: Request, here: Here) -> Json:
    """Return today's usage and limits of the budgets of the caller, their address and their key."""
    return await here.services.people.budgets.shown_to(billing_of(request))


@router.get("/api/me/export", dependencies=CERTAIN)
async def export_me(here: Here, caller: Caller) -> Response:
    """Return everything that is stored about the caller, by store, as a file."""
    everything: Json = await _stored_of(here, caller.user)
    if others := [
        user for user in await here.services.people.access_store.ids_of(caller.account) if user != caller.user
    ]:
        everything["other browsers"] = [await _stored_of(here, user) for user in others]
    security_event(SecurityEvent.DATA_EXPORTED, caller.principal, "the user asked")
    headers = {"content-disposition": 'attachment; filename="about-me.json"'}
    return await json_response(everything, headers)


@router.get("/api/me/notices")
async def show_notices(here: Here, caller: Caller) -> Json:
    """List the notices that wait to be delivered to the caller, oldest first. 503 when memory is out of reach."""
    return {
        "notices": [msgspec.to_builtins(notice) for notice in await here.services.news.notices.waiting(caller.user)]
    }


@router.delete("/api/me", dependencies=CERTAIN)
async def forget_me(request: Request, response: Response, here: Here, caller: Caller) -> Json:
    """End the caller's calls, erase all data, and void every cookie. 503 when something could not be erased: ask again.

    `later` names the places outside this server that have not erased yet; the server asks them again for a month.
    """
    access_store = here.services.people.access_store
    users = list(dict.fromkeys([caller.user, *await access_store.ids_of(caller.account)]))
    failures = [failure for user in users for failure in await _erase(here, user)]
    if failures:
        raise failures[-1]
    later = await asyncio.gather(*map(here.services.data.delete_elsewhere, users))
    await access_store.unlink(caller.account)
    if not caller.principal.key:  # The token of a program outlives what it erases for one of its users.
        await access_store.revoke(caller.account or caller.user)  # Last: until then the same cookie may ask again.
    response.headers.append("set-cookie", set_cookie(request.url.scheme, "", 0))
    security_event(SecurityEvent.DATA_ERASED, caller.principal, "the user asked")
    unfinished = sorted({name for names in later for name in names})
    return {"ok": True, "later": unfinished} if unfinished else {"ok": True}


async def _stored_of(here: Context, user: str) -> Json:
    return {name: await store.export(user) for name, store in here.services.data.user_data.items()}


async def _erase(here: Context, user: str) -> list[VoiceError]:
    """Erase all data of `user` in every store, even if one before it fails, and return the failures."""
    own = await here.services.calls.sessions.owned_by(user)
    ended = await asyncio.gather(*map(_delete, own), return_exceptions=True)
    failures = [error for error in ended if isinstance(error, VoiceError)]
    for store in here.services.data.user_data.values():
        try:
            await store.erase(user)
        except VoiceError as error:
            failures.append(error)
    return failures


def _shown(here: Context, known: UserProfile) -> Json:
    empty: Json = {"preferences": {}, "facts": [], "summary": "", "signals": {}, "instructions": []}
    return empty | known.stored() | {"retention_days": here.services.settings.memory.user_retention_days}


async def _delete(session: SessionHandle) -> None:
    await session.end("deleted")
    await session.forget()


@router.get("/mode")
async def show_mode(here: Here, caller: Caller) -> Json:
    """Return the caller's mode, and all modes. 503 when memory is out of reach."""
    modes = here.services.work.chat.modes
    profile = await load_profile(here.services.data.memory, caller.user)
    return {"mode": modes.chosen(profile).name, "modes": [modes.named(name).shown() for name in modes.names]}


@router.post("/mode/{mode}")
async def choose_mode(here: Here, caller: Caller, mode: str) -> Json:
    """Choose a mode for the caller and their running calls. 404, with a list of all modes, if unknown."""
    await here.messages.take(f"mode {caller.user}", here.now())
    chosen = here.services.work.chat.modes.get(mode)
    await update_profile(here.services.data.memory, caller.user, SetMode(chosen.name))
    return {"mode": chosen.name}


@router.get("/api/me/events", responses={200: {"content": {"text/event-stream": {}}}})
async def my_events(request: Request, here: Here, caller: Caller) -> Response:
    """Stream the waiting notices as `notice` events, then new events. 429 when too many pages are open."""
    page = here.services.news.pages.reserve(caller.user)
    permit = await take_permit(request, PermitKind.STREAMS)
    return EventStream(holding(permit, _stream(page, here, caller)))


@router.post("/api/me/notices/{notice_id}/seen")
async def saw_notice(notice_id: str, here: Here, caller: Caller) -> dict[str, bool]:
    """Note that the caller has seen a notice: it need not be delivered. `still_waited`: false if it was."""
    await here.messages.take(f"seen {caller.user}", here.now())
    return {"still_waited": await here.services.news.notices.mark_seen(caller.user, notice_id[:200])}


async def _stream(page: PageStream, here: Context, caller: Identity) -> AsyncGenerator[bytes, None]:
    """Yield the user's events until the page leaves or its cookie is revoked."""
    pages = here.services.news.pages
    unwatch = here.services.data.memory.observers.add(
        page.user_id, lambda _: page.event_log.publish(UserContextChanged())
    )
    try:
        pages.open(page)
        yield RETRY
        with suppress(MemoryUnavailable):
            for notice in await here.services.news.notices.waiting(page.user_id):
                content = NoticeContent(notice.kind, notice.text, notice.source, notice.at)
                page.event_log.publish(NoticeChanged(notice.id, "waiting", content))
        async with aclosing(page.event_log.follow(quiet_s=here.heartbeat_s)) as stream:
            async for events in stream:
                if not events and await _is_revoked(here, caller):
                    return
                yield encode_events(events)
    finally:
        unwatch()
        pages.remove(page)


async def _is_revoked(here: Context, caller: Identity) -> bool:
    return bool(caller.account and await here.services.people.access_store.is_revoked(caller.account, caller.epoch))
