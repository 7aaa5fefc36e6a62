"""CalDAV's XML: what we ask (RFC 4791, 5.3.1 and 7.8), and the multistatus that answers. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from backend.calendar.base import Stored

_D, _C = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"
_NAMES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"'
MAKE_CALENDAR = (
    f'<?xml version="1.0" encoding="utf-8"?><C:mkcalendar {_NAMES}><D:set><D:prop>'
    "<D:displayname>Voice assistant</D:displayname>"
    '<C:supported-calendar-component-set><C:comp name="VEVENT"/></C:supported-calendar-component-set>'
    "</D:prop></D:set></C:mkcalendar>"
)
_MARGIN = timedelta(days=1)
"""Asked for on both sides: the server takes floating times and days in a zone of its own choosing."""


class BadMultistatus(ValueError):
    """Not the XML it should be."""


def time_range(start: datetime, end: datetime) -> str:
    """The part of a report that keeps it to what happens between two moments in UTC."""
    first, last = (f"{moment:%Y%m%dT%H%M%SZ}" for moment in (start - _MARGIN, end + _MARGIN))
    return f'<C:time-range start="{first}" end="{last}"/>'


def report(within: str = "") -> str:
    """Asks for all events, repeating ones too, within a `time_range` or at all."""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><C:calendar-query {_NAMES}>'
        "<D:prop><D:getetag/><C:calendar-data/></D:prop>"
        f'<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">{within}</C:comp-filter>'
        "</C:comp-filter></C:filter></C:calendar-query>"
    )


def read_multistatus(text: str) -> list[Stored]:
    """The events in an answer. Raises `BadMultistatus`."""
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
    """One event; None for a response without one."""
    href = urlsplit(response.findtext(f"{_D}href", "").strip()).path
    data = response.findtext(f".//{_C}calendar-data")
    if not data or not (name := unquote(href.rsplit("/", 1)[-1])):
        return None
    return Stored(name, data, response.findtext(f".//{_D}getetag", "").strip())
