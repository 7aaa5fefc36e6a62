"""Questions about days, from the sentence to the events found: without a model, on a calendar, at a fixed time."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from tests.extensions.local.orders import asked
from tests.extensions.local.test_calendar_talk import TOOLS

pytest.importorskip("backend.extensions.calendar", reason="what is asked about is the calendar of that extension")
from backend.extensions.calendar.local import LocalStore
from tests.extensions.calendar.test_tools import NEW_YORK, Desk

WEDNESDAY = datetime(2026, 11, 25, 10, 0, tzinfo=NEW_YORK)
EVENTS = {
    "Thursday's": "2026-11-26T09:00",
    "Friday's": "2026-11-27T12:00",
    "Monday's": "2026-11-30T15:00",
    "Tuesday's": "2026-12-01T08:00",
    "next Monday's": "2026-12-07T09:00",
}


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
async def test_a_question_about_a_day_looks_at_that_day_alone(tmp_path: Path, sentence: str, found: list[str]) -> None:
    desk = Desk(LocalStore(tmp_path), now=WEDNESDAY)
    await desk.live_in("America/New_York")
    for title, start in EVENTS.items():
        await desk.call("create_event", title=title, start=start)
    [call] = asked(sentence, *TOOLS).calls
    assert call.name == "calendar_list_events"
    events = (await desk.call("list_events", **json.loads(call.arguments)))["events"]
    assert [event["title"] for event in events] == found


async def test_the_end_of_a_span_is_read_from_today_unless_that_is_before_its_beginning(tmp_path: Path) -> None:
    desk = Desk(LocalStore(tmp_path), now=WEDNESDAY)
    await desk.live_in("America/New_York")
    spans = {
        ("Friday", "Monday"): ("2026-11-27T00:00:00-05:00", "2026-12-01T00:00:00-05:00"),
        ("Monday", "Friday"): ("2026-11-30T00:00:00-05:00", "2026-12-05T00:00:00-05:00"),
        ("tomorrow at three", "at five"): ("2026-11-26T15:00:00-05:00", "2026-11-26T17:00:00-05:00"),
    }
    for (start, end), (first, last) in spans.items():
        listed = await desk.call("list_events", start=start, end=end)
        assert (listed["from"], listed["to"]) == (first, last)
