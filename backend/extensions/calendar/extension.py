"""The users' calendars, in Redis or on a CalDAV server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from backend.extension import Extension, Ground, Opened
from backend.extensions.calendar.calendars import Calendars, open_calendars
from backend.extensions.calendar.settings import CalendarSettings
from backend.settings.settings import Settings
from backend.storage.memory import Memory


def services(settings: Settings, http: httpx2.AsyncClient, memory: Memory) -> Mapping[type[Any], Any]:
    """Return the calendars as a service for the tools."""
    return {Calendars: open_calendars(settings, http, memory)}


@asynccontextmanager
async def open_calendar(ground: Ground) -> AsyncIterator[Opened]:
    """Add the users' events to export and erasure."""
    yield Opened(user_data={"calendar": open_calendars(ground.settings, ground.http, ground.memory)})


EXTENSION = Extension(
    name="calendar",
    title="Calendar",
    settings=(CalendarSettings,),
    open=open_calendar,
    services=services,
    tools=("backend.extensions.calendar.tools",),
    thinkers=("backend.extensions.calendar.assistant",),
    secrets=("CALENDAR__URL",),
    former={
        "CALDAV_URL": "CALENDAR__URL",
        "CALDAV_USERNAME": "CALENDAR__USERNAME",
        "CALDAV_PASSWORD": "CALENDAR__PASSWORD",
    },
)
