"""A user's calendar, in files or by CalDAV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from backend.extension import Extension
from backend.extensions.calendar.calendars import Calendars, open_calendars
from backend.settings.settings import Settings


def services(settings: Settings, http: httpx2.AsyncClient) -> Mapping[type[Any], Any]:
    """Return the calendars, for the tool."""
    return {Calendars: open_calendars(settings, http)}


EXTENSION = Extension(name="calendar", title="Calendar", services=services)
