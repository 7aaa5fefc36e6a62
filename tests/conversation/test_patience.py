"""Each row of the table of reasons, and what holds for all of them."""

from __future__ import annotations

import pytest

from backend.conversation.patience import (
    EndpointingStyle,
    Expected,
    PauseContext,
    Reason,
    expected_answer,
    patience,
)

ROWS = [
    ("No, thank you.", Reason.QUICK_ANSWER),
    ("I was thinking um", Reason.FILLED_PAUSE),
    ("I'd like to come on Tuesday, no", Reason.SELF_CORRECTION),
    ("my number is four one five", Reason.NUMBER),
    ("four one five five five five two three four five", Reason.NUMBER_COMPLETE),
    ("I would like to book a table for", Reason.TRAILING_OFF),
    ("What time do you open?", Reason.QUESTION),
]


@pytest.mark.parametrize(("words", "reason"), ROWS)
def test_words_give_their_reason(words: str, reason: Reason) -> None:
    assert patience(PauseContext(words), EndpointingStyle.BALANCED).reason == reason


def test_without_words_the_wait_is_seven_hundred() -> None:
    assert patience(PauseContext(), EndpointingStyle.BALANCED).wait_ms == 700


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("What's your phone number?", Expected.NUMBER),
        ("Could you spell your last name?", Expected.SPELLING),
        ("Shall I book it?", Expected.YES_OR_NO),
        ("Your table is booked.", Expected.NOTHING),
    ],
)
def test_our_question_says_what_to_expect(words: str, expected: Expected) -> None:
    assert expected_answer(words) is expected
