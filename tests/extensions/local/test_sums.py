"""Sums, units and the clock elsewhere: computed by the local Responder itself."""

from datetime import UTC, datetime

import pytest

from backend.extensions.local.dialogue.clock import time_elsewhere
from backend.extensions.local.dialogue.sums import digits, sum_in
from tests.extensions.local.orders import ROUTE, asked

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What's 17 times 24?", "That is 408."),
        ("What's two hundred and fifty divided by eight?", "That is 31.25."),
        ("How much is fifteen percent of eighty dollars?", "That is 12."),
        ("What's 3 plus 4 times 2?", "That is 11."),
        ("What's 5 minus 8?", "That is -3."),
        ("What is 5 divided by 0?", "That divides by zero."),
        ("If I split 96 dollars among four people, how much does each of them pay?", "Each gets 24."),
        ("A train goes 60 miles per hour for 3 hours. How far does it go?", "The distance is 180."),
        ("A jacket costs ninety dollars and is twenty percent off, what do I pay?", "That leaves 72."),
        ("How many kilometers are 26 miles?", "That is 41.84 kilometers."),
        ("Convert seventy degrees Fahrenheit to Celsius.", "That is 21.11 degrees Celsius."),
        ("What is minus 40 degrees Celsius in Fahrenheit?", "That is -40 degrees Fahrenheit."),
        ("How many grams are in half a pound?", "That is 226.8 grams."),
        ("How many feet are in a mile?", "That is 5,280 feet."),
        ("What is 5 feet in centimeters?", "That is 152.4 centimeters."),
        ("How many minutes are in two days?", "That is 2,880 minutes."),
    ],
)
def test_a_question_is_computed(question: str, answer: str) -> None:
    found = sum_in(question)
    assert found and found.answer() == answer


@pytest.mark.parametrize("question", ["How many pounds are in a mile?", "Who won the war?", "I have two sisters."])
def test_words_that_are_no_sum_are_not_computed(question: str) -> None:
    assert sum_in(question) is None


def test_sums_and_units_are_answered_without_a_thinker() -> None:
    route = {"type": "function", "function": ROUTE}
    for question in ("What's 17 times 24?", "How many kilometers are 26 miles?"):
        assert asked(question, route).text.startswith("That is")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What time is it in Tokyo right now?", "It is 21:00 in Tokyo, on Friday."),
        ("What's the time in new york?", "It is 07:00 in New York, on Friday."),
        ("What time is it?", ""),
        ("What's the time difference between London and Sydney?", ""),
        ("What happens in Tokyo?", ""),
    ],
)
def test_the_time_in_a_city_is_given(question: str, answer: str) -> None:
    assert time_elsewhere(question, NOON) == answer


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("eighty kilos and one meter eighty", "80 kilos and 1 meter 80"),
        ("one hundred and twenty five pounds", "125 pounds"),
        ("one point eight five meters", "1.85 meters"),
        ("someone alone wants money", "someone alone wants money"),
    ],
)
def test_spoken_numbers_become_digits(said: str, written: str) -> None:
    assert digits(said) == written
