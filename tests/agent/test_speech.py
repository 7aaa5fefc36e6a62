"""Written text becomes speakable text."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backend.agent.speech import speakable
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("It is mild.", "It is mild."),
        ("**Bold** and *soft* and `code`", "Bold and soft and code"),
        ("__Bold__ and _soft_", "Bold and soft"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 times 3 times 4"),
        ("# Weather\n\nIt rains", "Weather. It rains."),
        ("- rain\n- wind\n* snow", "rain. wind. snow."),
        ("1. First\n2. Second.", "First. Second."),
        ("> quoted\n> words", "quoted. words."),
        ("See [the forecast](https://a.example/b?c=d).", "See the forecast."),
        ("[https://www.a.example/x](https://www.a.example/x)", "a.example"),
        ("See https://www.nasa.gov/moon, please.", "See nasa.gov, please."),
        ("See <https://nasa.gov/moon>.", "See nasa.gov."),
        ("![a map](https://a.example/m.png)", "a map"),
        ("It is true [1][2].", "It is true."),
        ("It is true【3†source】.", "It is true."),
        ("72°F", "72 degrees Fahrenheit"),
        ("1°C", "1 degree Celsius"),
        ("-5 °C", "minus 5 degrees Celsius"),
        ("A high of 72° today", "A high of 72 degrees today"),
        ("10-15°C", "10 to 15 degrees Celsius"),
        ("Wind 12 mph, 20 km/h", "Wind 12 miles per hour, 20 kilometers per hour"),
        ("60% chance", "60 percent chance"),
        ("5 mm of rain", "5 millimeters of rain"),
        ("1.5 kg", "1.5 kilograms"),
        ("~20 people", "about 20 people"),
        ("Salt & pepper", "Salt and pepper"),
        ("e.g. rain", "for example rain"),
        ("Fine ☀️ day 🎉!", "Fine day!"),
        ("| Day | High |\n|---|---|\n| Mon | 20 |", "Day, High. Mon, 20."),
        ("```\nx = 1\n```", "x = 1"),
        ("a<br>b", "a. b."),
        ("<b>bold</b> &amp; so on", "bold and so on"),
        ("one\n\n---\n\ntwo", "one. two."),
        ("Ready?\nYes", "Ready? Yes."),
        ("$3.50 at 10:30", "$3.50 at 10:30"),
        ("the 100m race in 9.58 s", "the 100m race in 9.58 s"),
        ("", ""),
    ],
)
def test_written_text_becomes_speakable(written: str, spoken: str) -> None:
    assert speakable(written) == spoken


@examples(150)
@given(st.text(alphabet="ab1 .*_`#-|[]()<>&°F%\n~", max_size=60))
@example("*`*1")
def test_no_text_fails_or_keeps_line_breaks_or_emphasis(text: str) -> None:
    spoken = speakable(text)
    assert "\n" not in spoken
    assert "**" not in spoken
    assert "`" not in spoken


def test_a_long_text_of_opening_marks_becomes_speakable() -> None:
    assert speakable("[" * 5_000 + "*" * 5_000 + "https://" * 1_000)


@pytest.mark.alone
@pytest.mark.parametrize(
    "piece", ["\n", " ", "【", "[", "<a", "`", "**a ", "__", "~~", "*a", "1,", "1-", "http://", ".'", "&#9", "&#", "| "]
)
def test_no_repeated_mark_takes_long(piece: str) -> None:
    began = time.process_time()
    speakable(piece * 50_000)
    assert time.process_time() - began < 0.05


def test_a_character_reference_with_an_impossible_number_is_left_out() -> None:
    assert speakable(f"a &#{'9' * 9_000}; b") == "a b"
