"""A calendar by voice without a key: sentences are read, events found before a change, and consent asked."""

from typing import Any

import pytest

from backend.extensions.local.dialogue.arguments import new_start
from backend.extensions.local.dialogue.calls import Thought
from tests.extensions.local import orders
from tests.extensions.local.orders import TOOLS, after, called

NAMES = (
    "calendar_create_event",
    "calendar_list_events",
    "calendar_update_event",
    "calendar_delete_event",
    "remember_preference",
)
if not TOOLS.keys() >= {*NAMES}:
    pytest.skip("the calendar extension is not installed", allow_module_level=True)
LUNCH = {
    "id": "e1",
    "title": "Lunch with Ana",
    "when": "Sunday, 22 November 2026, 12:00",
    "start": "2026-11-22T12:00:00",
}
LISTED = "In your calendar: Lunch with Ana, Sunday, 22 November, at 12:00."


def asked(sentence: str, *results: tuple[str, dict[str, Any]]) -> Thought:
    """The next reply, after the tools of these names gave these results, one after the other."""
    return after(sentence, *results, tools=NAMES)


@pytest.mark.parametrize(
    ("sentence", "name", "arguments"),
    [
        ("Cancel lunch with Ana tomorrow.", "calendar_delete_event", {"id": "e1"}),
        ("Yes, cancel lunch with Ana tomorrow.", "calendar_delete_event", {"id": "e1"}),
        (
            "Move lunch with Ana tomorrow to one o'clock.",
            "calendar_update_event",
            {"id": "e1", "start": "2026-11-22 at one o'clock"},
        ),
    ],
)
def test_the_event_is_found_and_then_changed(sentence: str, name: str, arguments: dict[str, str]) -> None:
    assert called(asked(sentence, ("calendar_list_events", {"events": [LUNCH]}))) == [(name, arguments)]


def test_no_match_or_several_matches_are_asked_back_about() -> None:
    none = asked("Cancel lunch tomorrow.", ("calendar_list_events", {"events": []}))
    assert none.text == "I find nothing like that."
    two = {"events": [LUNCH, LUNCH | {"id": "e2"}], "spoken": LISTED}
    several = asked("Cancel lunch tomorrow.", ("calendar_list_events", two))
    assert not several.calls
    assert several.text == f"Which event do you mean? {LISTED}"


def test_moving_an_event_without_a_new_time_asks_for_it() -> None:
    moved = asked("Move lunch with Ana tomorrow.", ("calendar_list_events", {"events": [LUNCH]}))
    assert moved.text == "On which day, and at what time?"


def test_making_an_event_without_a_time_asks_for_it() -> None:
    made = orders.asked("Add lunch with Ana tomorrow.", "calendar_create_event")
    assert made.text == "On which day, and at what time?"


@pytest.mark.parametrize(
    ("target", "start", "moment"),
    [
        ("one o'clock", "2026-11-22T12:00:00", "2026-11-22 at one o'clock"),
        ("Friday at 3 pm", "2026-11-22T12:00:00", "Friday at 3 pm"),
        ("Friday", "2026-11-22T12:30:00+01:00", "Friday at 12:30"),
        ("Friday", "2026-11-22", "Friday"),
    ],
)
def test_a_move_keeps_what_it_does_not_name(target: str, start: str, moment: str) -> None:
    assert new_start(target, start) == moment
