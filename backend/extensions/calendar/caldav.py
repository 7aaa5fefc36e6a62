"""Events on a CalDAV server (RFC 4791): five kinds of request over the HTTP client that the tools share.

One account of the server holds a calendar for each user, named by an opaque hash; the user's first event creates it.
Every change names, by its ETag, the version that it changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

import httpx2

from backend.extensions.calendar.base import (
    CalendarRefused,
    CalendarUnavailable,
    EventChanged,
    NoSuchEvent,
    Span,
    Stored,
)
from backend.extensions.calendar.events import with_time_zones

log = logging.getLogger(__name__)

TIMEOUT_S = 3.0
"""The most seconds that the server may be silent, since a caller is waiting."""
BODY_LIMIT = 2_000_000
"""The most bytes that are read of an answer."""
WRITTEN, REMOVED = (200, 201, 204), (200, 202, 204)
"""The statuses of a successful PUT, and of a successful DELETE."""
ICS = {"content-type": "text/calendar; charset=utf-8"}
XML = {"content-type": "application/xml; charset=utf-8", "depth": "1"}
_D, _C = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"
_NAMES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"'
MAKE_CALENDAR = (
    f'<?xml version="1.0" encoding="utf-8"?><C:mkcalendar {_NAMES}><D:set><D:prop>'
    "<D:displayname>Voice assistant</D:displayname>"
    '<C:supported-calendar-component-set><C:comp name="VEVENT"/></C:supported-calendar-component-set>'
    "</D:prop></D:set></C:mkcalendar>"
)
_MARGIN = timedelta(days=1)
"""The margin at both ends of a search, since the server reads floating times and days in a zone of its choice."""


class CalDavStore:
    """An `EventStore` below `url`, which is the account's calendar home, e.g. https://cal.example.com/voice/."""

    def __init__(self, http: httpx2.AsyncClient, url: str, username: str, password: str) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._auth = httpx2.BasicAuth(username, password) if username else None

    async def events(self, user_id: str, within: Span | None = None) -> list[Stored]:
        """Return all events, or those in a time range, repeating ones included (RFC 4791, 7.8)."""
        body = (
            f'<?xml version="1.0" encoding="utf-8"?><C:calendar-query {_NAMES}>'
            "<D:prop><D:getetag/><C:calendar-data/></D:prop>"
            '<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">'
            f"{_time_range(*within) if within else ''}</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"
        )
        status, text, _ = await self._ask("REPORT", self._calendar(user_id), body, XML, expected=(207, 404))
        if status == 404:
            return []  # the calendar was never created
        return await asyncio.to_thread(read_multistatus, text)

    async def get(self, user_id: str, event_id: str) -> Stored:
        _, text, headers = await self._ask("GET", self._event(user_id, event_id), expected=(200,))
        return Stored(event_id, text, headers.get("etag", ""))

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        headers = ICS | {"if-none-match": "*"}
        url, text = self._event(user_id, event_id), await asyncio.to_thread(with_time_zones, text)
        status, _, _ = await self._ask("PUT", url, text, headers, expected=(*WRITTEN, 404, 409))
        if status in (404, 409):  # no calendar yet: RFC 4918 asks for 409, some servers say 404
            made = (200, 201, 405, 409)  # the last two: another request has just created it
            await self._ask("MKCALENDAR", self._calendar(user_id), MAKE_CALENDAR, XML, expected=made)
            await self._ask("PUT", url, text, headers, expected=WRITTEN)

    async def replace(self, user_id: str, known: Stored, text: str) -> None:
        text = await asyncio.to_thread(with_time_zones, text)
        await self._ask("PUT", self._event(user_id, known.id), text, ICS | _only_if(known), expected=WRITTEN)

    async def remove(self, user_id: str, known: Stored) -> None:
        event = self._event(user_id, known.id)
        await self._ask("DELETE", event, headers=_only_if(known), expected=REMOVED)

    async def erase(self, user_id: str) -> None:
        await self._ask("DELETE", self._calendar(user_id), expected=(*REMOVED, 404))

    def _calendar(self, user_id: str) -> str:
        if not user_id:
            raise CalendarRefused("There is no calendar for an unknown user.")
        name = hashlib.sha256(f"calendar of {user_id}".encode()).hexdigest()[:32]
        return f"{self._url}/{name}/"

    def _event(self, user_id: str, event_id: str) -> str:
        if event_id in (".", "..") or not re.fullmatch(r"[^/\x00-\x1f\x7f]{1,255}", event_id):
            raise NoSuchEvent("There is no such event.")
        return self._calendar(user_id) + quote(event_id, safe="")

    async def _ask(
        self,
        method: str,
        url: str,
        body: str = "",
        headers: dict[str, str] | None = None,
        *,
        expected: tuple[int, ...],
    ) -> tuple[int, str, httpx2.Headers]:
        """Return status, text and headers of the answer. Raises the error of any status that is not `expected`."""
        try:
            async with self._http.stream(
                method, url, content=body.encode(), headers=headers, auth=self._auth, timeout=TIMEOUT_S
            ) as response:
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > BODY_LIMIT:
                        raise CalendarUnavailable("The calendar server's answer is too long.")
                if response.status_code not in expected:
                    _refuse(response.status_code)
                return response.status_code, content.decode("utf-8", "replace"), response.headers
        except httpx2.TimeoutException as error:
            raise CalendarUnavailable("The calendar server does not answer.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise CalendarUnavailable("The calendar server cannot be reached.") from error


def _time_range(start: datetime, end: datetime) -> str:
    first, last = (start.astimezone(UTC) - _MARGIN, end.astimezone(UTC) + _MARGIN)
    return f'<C:time-range start="{first:%Y%m%dT%H%M%SZ}" end="{last:%Y%m%dT%H%M%SZ}"/>'


def _only_if(known: Stored) -> dict[str, str]:
    """Return the header that names the version, without the mark of weak ETags, which compressing proxies add."""
    return {"if-match": known.etag.removeprefix("W/")} if known.etag else {}


def _refuse(status: int) -> NoReturn:
    if status not in (404, 409, 410, 412):
        log.warning("the calendar server answers %d", status)
    match status:
        case 401 | 403:
            raise CalendarRefused(
                "The calendar server refuses this service's credentials.",
                hint="The operator should check CALENDAR__URL, CALENDAR__USERNAME and CALENDAR__PASSWORD.",
            )
        case 404 | 410:
            raise NoSuchEvent("There is no such event.")
        case 409 | 412:
            raise EventChanged("The event was changed by another client meanwhile.")
        case 423 | 429 | 500 | 502 | 503 | 504:
            raise CalendarUnavailable(f"The calendar server cannot answer now ({status}).")
        case _:
            raise CalendarRefused(f"The calendar server refuses the request ({status}).")


def read_multistatus(text: str) -> list[Stored]:
    """Return the events in an answer (RFC 4791, 5.3.1 and 7.8). Raises `CalendarUnavailable` for any other text."""
    bad = CalendarUnavailable("The calendar server's answer is not a calendar.")
    if "<!DOCTYPE" in text[:1_000]:
        raise bad
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise bad from error
    if root.tag != f"{_D}multistatus":
        raise bad
    found = (_stored(response) for response in root.iter(f"{_D}response"))
    return [stored for stored in found if stored is not None]


def _stored(response: ElementTree.Element) -> Stored | None:
    href = urlsplit(response.findtext(f"{_D}href", "").strip()).path
    data = response.findtext(f".//{_C}calendar-data")
    if not data or not (name := unquote(href.rsplit("/", 1)[-1])):
        return None
    return Stored(name, data, response.findtext(f".//{_D}getetag", "").strip())
