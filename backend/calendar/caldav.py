"""Events on a CalDAV server (RFC 4791): five kinds of request over the HTTP client the tools share.

One account of the server holds a calendar for each user, named by an opaque hash; it is made when the first event is
put into it. Every change says by its ETag which version it is a change of.
"""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import UTC, datetime
from typing import NoReturn
from urllib.parse import quote

import httpx2

from backend.calendar.base import (
    CalendarRefused,
    CalendarUnavailable,
    EventChanged,
    NoSuchEvent,
    Stored,
    calendar_name,
)
from backend.calendar.events import with_time_zones
from backend.calendar.multistatus import MAKE_CALENDAR, BadMultistatus, read_multistatus, report, time_range

log = logging.getLogger(__name__)

TIMEOUT_S = 3.0
"""Seconds the server may be silent; a caller is waiting."""
BODY_LIMIT = 2_000_000
"""Bytes read of an answer, at most."""
ICS = {"content-type": "text/calendar; charset=utf-8"}
XML = {"content-type": "application/xml; charset=utf-8", "depth": "1"}


class CalDavStore:
    """An `EventStore` below `url`, the account's calendar home, e.g. https://cal.example.com/voice/."""

    label = "kept on the calendar server"

    def __init__(self, http: httpx2.AsyncClient, url: str, username: str, password: str) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._auth = httpx2.BasicAuth(username, password) if username else None

    def __repr__(self) -> str:
        return f"CalDavStore({self._url})"

    async def between(self, user_id: str, start: datetime, end: datetime) -> list[Stored]:
        """See `EventStore.between`."""
        return await self._report(user_id, report(time_range(start.astimezone(UTC), end.astimezone(UTC))))

    async def everything(self, user_id: str) -> list[Stored]:
        """See `EventStore.everything`."""
        return await self._report(user_id, report())

    async def get(self, user_id: str, event_id: str) -> Stored:
        """See `EventStore.get`."""
        status, text, headers = await self._ask("GET", self._event(user_id, event_id))
        if status != 200:
            _refuse(status)
        return Stored(event_id, text, headers.get("etag", ""))

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        """See `EventStore.create`."""
        headers = ICS | {"if-none-match": "*"}
        url, text = self._event(user_id, event_id), await asyncio.to_thread(with_time_zones, text)
        status, _, _ = await self._ask("PUT", url, text, headers)
        if status in (404, 409):  # no calendar yet: RFC 4918 wants 409, some say 404
            made, _, _ = await self._ask("MKCALENDAR", self._calendar(user_id), MAKE_CALENDAR, XML)
            if made not in (200, 201, 405, 409):  # the last two: somebody else has just made it
                _refuse(made)
            status, _, _ = await self._ask("PUT", url, text, headers)
        if status not in (200, 201, 204):
            _refuse(status)

    async def replace(self, user_id: str, known: Stored, text: str) -> None:
        """See `EventStore.replace`."""
        headers = ICS | _only_if(known)
        text = await asyncio.to_thread(with_time_zones, text)
        status, _, _ = await self._ask("PUT", self._event(user_id, known.id), text, headers)
        if status not in (200, 201, 204):
            _refuse(status)

    async def remove(self, user_id: str, known: Stored) -> None:
        """See `EventStore.remove`."""
        status, _, _ = await self._ask("DELETE", self._event(user_id, known.id), headers=_only_if(known))
        if status not in (200, 202, 204):
            _refuse(status)

    async def erase(self, user_id: str) -> None:
        """See `EventStore.erase`."""
        status, _, _ = await self._ask("DELETE", self._calendar(user_id))
        if status not in (200, 202, 204, 404):
            _refuse(status)

    async def _report(self, user_id: str, body: str) -> list[Stored]:
        status, text, _ = await self._ask("REPORT", self._calendar(user_id), body, XML)
        if status == 404:
            return []  # nobody has put anything into it yet
        if status != 207:
            _refuse(status)
        try:
            return await asyncio.to_thread(read_multistatus, text)
        except BadMultistatus as error:
            raise CalendarUnavailable("The calendar server answers with something that is no calendar.") from error

    def _calendar(self, user_id: str) -> str:
        return f"{self._url}/{calendar_name(user_id)}/"

    def _event(self, user_id: str, event_id: str) -> str:
        if event_id in (".", "..") or not re.fullmatch(r"[^/\x00-\x1f\x7f]{1,255}", event_id):
            raise NoSuchEvent("There is no such event.")
        return self._calendar(user_id) + quote(event_id, safe="")

    async def _ask(
        self, method: str, url: str, body: str = "", headers: dict[str, str] | None = None
    ) -> tuple[int, str, httpx2.Headers]:
        """Status, text and headers of the answer. Raises `CalendarUnavailable` when there is none."""
        try:
            async with self._http.stream(
                method, url, content=body.encode(), headers=headers, auth=self._auth, timeout=TIMEOUT_S
            ) as response:
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > BODY_LIMIT:
                        raise CalendarUnavailable("The calendar server answers with far too much.")
                return response.status_code, content.decode("utf-8", "replace"), response.headers
        except httpx2.TimeoutException as error:
            raise CalendarUnavailable("The calendar server does not answer.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise CalendarUnavailable("The calendar server cannot be reached.") from error


def _only_if(known: Stored) -> dict[str, str]:
    """A proxy that compresses marks ETags as weak, and weak ones never match: the mark is taken off again."""
    return {"if-match": known.etag.removeprefix("W/")} if known.etag else {}


def _refuse(status: int) -> NoReturn:
    """What a status means that is not the one hoped for."""
    if status not in (404, 409, 410, 412):
        log.warning("the calendar server answers %d", status)
    match status:
        case 401 | 403:
            raise CalendarRefused(
                "The calendar server does not let this service in.",
                hint="The operator should look at CALDAV_URL, CALDAV_USERNAME and CALDAV_PASSWORD.",
            )
        case 404 | 410:
            raise NoSuchEvent("There is no such event.")
        case 409 | 412:
            raise EventChanged("The event was changed by somebody else meanwhile.")
        case 423 | 429:
            raise CalendarUnavailable(f"The calendar server is busy ({status}).")
        case _ if status >= 500 and status != 507:
            raise CalendarUnavailable(f"The calendar server has a fault of its own ({status}).")
        case _:
            raise CalendarRefused(f"The calendar server refuses the request ({status}).")
