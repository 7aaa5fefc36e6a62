"""Events on a CalDAV server (RFC 4791): five kinds of request over the HTTP client the tools share.

One account of the server holds a calendar for each user, named by an opaque hash; it is made when the first event is
put into it. Every change says by its ETag which version it is a change of.
"""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

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

log = logging.getLogger(__name__)

TIMEOUT_S = 3.0
"""Seconds the server may be silent, since a caller is waiting."""
BODY_LIMIT = 2_000_000
"""Bytes read of an answer, at most."""
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
"""Added on both sides, since the server takes floating times and days in a zone of its own choosing."""


class BadMultistatus(ValueError):
    """The answer is not the XML it should be."""


class CalDavStore:
    """An `EventStore` below `url`, which is the account's calendar home, e.g. https://cal.example.com/voice/."""

    label = "kept on the calendar server"

    def __init__(self, http: httpx2.AsyncClient, url: str, username: str, password: str) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._auth = httpx2.BasicAuth(username, password) if username else None

    def __repr__(self) -> str:
        return f"CalDavStore({self._url})"

    async def between(self, user_id: str, start: datetime, end: datetime) -> list[Stored]:
        """Return all events that may happen between two aware moments, and perhaps some more."""
        return await self._report(user_id, report(time_range(start.astimezone(UTC), end.astimezone(UTC))))

    async def everything(self, user_id: str) -> list[Stored]:
        """Return all of a user's events, past ones too."""
        return await self._report(user_id, report())

    async def get(self, user_id: str, event_id: str) -> Stored:
        """Return one event. Raises `NoSuchEvent`."""
        status, text, headers = await self._ask("GET", self._event(user_id, event_id))
        if status != 200:
            _refuse(status)
        return Stored(event_id, text, headers.get("etag", ""))

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        """Store a new event. Raises `EventChanged` when the id is taken."""
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
        """Put `text` in the place of `known`. Raises `EventChanged` when `known` is out of date."""
        headers = ICS | _only_if(known)
        text = await asyncio.to_thread(with_time_zones, text)
        status, _, _ = await self._ask("PUT", self._event(user_id, known.id), text, headers)
        if status not in (200, 201, 204):
            _refuse(status)

    async def remove(self, user_id: str, known: Stored) -> None:
        """Delete `known`. Raises `EventChanged` when it is out of date."""
        status, _, _ = await self._ask("DELETE", self._event(user_id, known.id), headers=_only_if(known))
        if status not in (200, 202, 204):
            _refuse(status)

    async def erase(self, user_id: str) -> None:
        """Delete all of a user's events, and that there were any."""
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
        """Return status, text and headers of the answer. Raises `CalendarUnavailable` when there is none."""
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
    """Return the header that names the version. The mark of weak ETags, which compressing proxies add, is taken off."""
    return {"if-match": known.etag.removeprefix("W/")} if known.etag else {}


def _refuse(status: int) -> NoReturn:
    """Raise the error that an unexpected status means."""
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


# --- XML (RFC 4791, 5.3.1 and 7.8) ------------------------------------------------------------------


def time_range(start: datetime, end: datetime) -> str:
    """Return the part of a report that limits it to what happens between two moments in UTC."""
    first, last = (f"{moment:%Y%m%dT%H%M%SZ}" for moment in (start - _MARGIN, end + _MARGIN))
    return f'<C:time-range start="{first}" end="{last}"/>'


def report(within: str = "") -> str:
    """Return the request for all events, repeating ones too, within a `time_range` or at all."""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><C:calendar-query {_NAMES}>'
        "<D:prop><D:getetag/><C:calendar-data/></D:prop>"
        f'<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">{within}</C:comp-filter>'
        "</C:comp-filter></C:filter></C:calendar-query>"
    )


def read_multistatus(text: str) -> list[Stored]:
    """Return the events in an answer. Raises `BadMultistatus`."""
    if "<!DOCTYPE" in text[:1_000]:
        raise BadMultistatus("a document type has no place here")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise BadMultistatus("not XML") from error
    if root.tag != f"{_D}multistatus":
        raise BadMultistatus("no multistatus")
    found = (_stored(response) for response in root.iter(f"{_D}response"))
    return [stored for stored in found if stored is not None]


def _stored(response: ElementTree.Element) -> Stored | None:
    """Return one event; None for a response without one."""
    href = urlsplit(response.findtext(f"{_D}href", "").strip()).path
    data = response.findtext(f".//{_C}calendar-data")
    if not data or not (name := unquote(href.rsplit("/", 1)[-1])):
        return None
    return Stored(name, data, response.findtext(f".//{_D}getetag", "").strip())
