"""Questions about days, from the sentence to the events found: without a model, on a calendar, at a fixed time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest

from backend.app.extensions import installed
from backend.settings.settings import load_settings
from backend.testing import World
from backend.tools.registry import Registry
from tests.extensions.local.orders import TOOLS, asked
from tests.extensions.local.test_calendar_talk import NAMES
from tests.support.consent import tool_context

NEW_YORK = "America/New_York"
WEDNESDAY = datetime(2026, 11, 25, 10, 0, tzinfo=ZoneInfo(NEW_YORK))
EVENTS = {
    "Thursday's": "2026-11-26T09:00",
    "Friday's": "2026-11-27T12:00",
    "Monday's": "2026-11-30T15:00",
    "Tuesday's": "2026-12-01T08:00",
    "next Monday's": "2026-12-07T09:00",
}
Calendar = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""A tool's name and arguments → what the model is shown."""


@pytest.fixture
async def calendar(tmp_path: Path) -> AsyncIterator[Calendar]:
    """The tools for a user in New York, over files."""
    settings = load_settings(_env_file=None, data_dir=tmp_path)
    async with httpx2.AsyncClient() as http:
        services = installed().services(settings, http)
        world = World(user_id="ada", settings=settings, clock=WEDNESDAY.timestamp, services=services)
        await world.memory.update_user_context("ada", lambda known: {**known, "preferences": {"time_zone": NEW_YORK}})
        registry = Registry([TOOLS[name] for name in NAMES], world.known)

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return json.loads((await registry.call_tool(name, arguments, tool_context("ada", "c1"))).content)

        yield call


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Am I free on Monday?", ["Monday's"]),
        ("Am I free Monday afternoon?", ["Monday's"]),
        ("Do I have time on Monday?", ["Monday's"]),
        ("What do I have on Friday?", ["Friday's"]),
        ("Am I free tomorrow?", ["Thursday's"]),
        ("Am I free on Saturday?", []),
        ("Is there anything this weekend?", []),
        ("Am I free next week?", ["Monday's", "Tuesday's"]),
        ("Am I free on December 7th?", ["next Monday's"]),
    ],
)
async def test_a_question_about_a_day_looks_at_that_day_alone(
    calendar: Calendar, sentence: str, found: list[str]
) -> None:
    for title, start in EVENTS.items():
        await calendar("calendar_create_event", {"title": title, "start": start})
    [call] = asked(sentence, *NAMES).calls
    assert call.name == "calendar_list_events"
    events = (await calendar(call.name, json.loads(call.arguments)))["events"]
    assert [event["title"] for event in events] == found
