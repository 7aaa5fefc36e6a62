"""The spoken form of a tool's result: its own words, a description, or plain fields; a failure as a failure."""

from typing import Any

import pytest

from backend.extensions.local.dialogue.telling import SAMPLE
from tests.extensions.local.orders import after


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"spoken": "The moon is **full**.", "phase": 1}, "The moon is full."),
        ({"booked": {"name": "Room 5"}}, "I have booked this: Room 5."),
        ({"free_rooms": [{"name": "Room 5"}, {"name": "Room 7"}]}, "Free rooms: Room 5; Room 7."),
        ({"rooms": []}, "There are no rooms."),
        ({"phase": "full", "note": "x"}, "Phase: full."),
        ({"something": None}, "I got an answer that I cannot put into words."),
        ({"answer": "**Sunny**, see [this](http://x.y).", "source": "live"}, "Sunny, see this."),
        ({"answer": "It is 59 degrees.", "source": "sample"}, f"It is 59 degrees. {SAMPLE}"),
        ({"answer": "This is sample data: rain.", "source": "sample"}, "This is sample data: rain."),
        ({"error": "The weather took too long."}, "I am sorry, I could not find that out. The weather took too long."),
        (
            {"error": {"type": "not_found", "message": "No place called 'Xyz' was found. Ask the user for it."}},
            "I am sorry, I could not find that out. No place called 'Xyz' was found.",
        ),
        (
            {"error": {"type": "failed", "message": "No share was named. Ask which company is meant."}},
            "Which company do you mean?",
        ),
        ("# Title\n- plain `text`", "Title plain text"),
    ],
)
def test_a_result_is_spoken(result: Any, words: str) -> None:
    assert after("Well?", ("any_tool", result)).text == words


def test_sample_data_is_called_sample_data_once() -> None:
    words = after("Weather?", ("weather", {"spoken": "In Seattle it is 59.", "sample": True, "note": "because"})).text
    assert words == f"In Seattle it is 59. {SAMPLE}"


@pytest.mark.parametrize(
    ("question", "value", "words"),
    [
        (
            "Three tickets cost twelve dollars each, what change do I get from fifty?",
            14,
            "The change is 14.",
        ),
        ("How much is eighty percent of two hundred?", 160, "That is 160."),
    ],
)
def test_a_computed_value_is_spoken_in_the_form_of_the_question(question: str, value: float, words: str) -> None:
    assert after(question, ("calculate", {"value": value})).text == words


def test_a_change_is_asked_about_in_the_callers_own_words() -> None:
    consent = {"error": {"type": "needs_confirmation", "message": "Not done yet."}}
    words = "Shall I close issue 1? Please say yes or no."
    assert after("Please close issue 1.", ("github_issue", consent)).text == words
