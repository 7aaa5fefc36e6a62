"""`GET /api/me/events`: what happens to the caller outside of calls, for an open page; and what that page has shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import APIRouter, Response

from backend.conversation.page_events import NoticeChanged, NoticeContent, UserContextChanged
from backend.errors import MemoryUnavailable
from backend.http.context import Caller, Context, Here
from backend.http.page_streams import PageStream
from backend.http.sse import RETRY, EventStream, encode_events

router = APIRouter(tags=["events"])


@router.get("/api/me/events", responses={200: {"content": {"text/event-stream": {}}}})
async def my_events(here: Here, caller: Caller) -> Response:
    """Stream the notices that wait, as `notice` events; then what happens. 429 when too many pages are open."""
    page = here.services.pages.reserve(caller.user)
    return EventStream(_stream(page, here))


@router.post("/api/me/notices/{notice_id}/seen")
async def saw_notice(notice_id: str, here: Here, caller: Caller) -> dict[str, bool]:
    """Note that the caller sees a notice: it need not be delivered. `still_waited`: false if it was delivered."""
    here.messages.take(f"seen {caller.user}", here.now())
    return {"still_waited": await here.services.mark_seen(caller.user, notice_id[:200])}


async def _stream(page: PageStream, here: Context) -> AsyncGenerator[bytes, None]:
    unwatch = here.services.memory.watch_user(page.user_id, lambda _: page.event_log.publish(UserContextChanged()))
    try:
        await page.open()
        yield RETRY
        for notice in await _waiting(page, here):
            page.event_log.publish(notice)
        async with aclosing(page.event_log.follow(quiet_s=here.heartbeat_s)) as stream:
            async for events in stream:
                if not events:
                    await page.renew()
                yield encode_events(events)
    finally:
        unwatch()
        await page.close()


async def _waiting(page: PageStream, here: Context) -> list[NoticeChanged]:
    try:
        waiting = await here.services.notices(page.user_id)
    except MemoryUnavailable:
        return []
    return [
        NoticeChanged(notice.id, "waiting", NoticeContent(notice.kind, notice.text, notice.source, notice.at))
        for notice in waiting
    ]
