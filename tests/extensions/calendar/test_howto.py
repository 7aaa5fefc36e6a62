"""The settings of the how-to lead to a calendar on a CalDAV server."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest

from backend.extensions.calendar.base import EventDraft
from backend.extensions.calendar.calendars import open_calendars
from backend.extensions.calendar.settings import CalendarSettings
from backend.settings.settings import load_settings
from backend.testing.memory import FakeMemory
from tests.extensions.calendar.events_of import DAY, HOUR, NOW, at
from tests.support.radicale import PASSWORD, USERNAME, Radicale

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "calendar.md"


async def test_the_settings_of_the_howto_keep_an_event_on_the_server(
    server: Radicale, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", HOWTO.read_text(), re.S)
    for name, value in re.findall(r"^export (\w+)=(\S+)", block, re.M):
        monkeypatch.setenv(name, value)
    shown = load_settings(_env_file=None).of(CalendarSettings)
    assert (shown.url, shown.username) == ("https://cal.example.com/voice/", USERNAME)
    monkeypatch.setenv("CALENDAR__URL", server.url)
    monkeypatch.setenv("CALENDAR__PASSWORD", PASSWORD)
    async with httpx2.AsyncClient() as http:
        calendars = open_calendars(load_settings(_env_file=None), http, FakeMemory())
        start = at("2026-10-30 15:00")
        await calendars.create("ada", EventDraft("Dentist", start, start + HOUR), NOW, once="1")
        assert [one.title for one in (await calendars.between("ada", NOW, NOW + 14 * DAY)).occurrences] == ["Dentist"]
