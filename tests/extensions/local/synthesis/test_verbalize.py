"""From written text to the words that are spoken."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.extensions.local.dialogue.wording import spoken
from backend.extensions.local.synthesis.verbalize.verbalizer import verbalize

TABLE = Path(__file__).with_name("verbalized.txt")


def rows() -> list[tuple[str, str]]:
    """What is written and how it is spoken, from the table."""
    lines = [line for line in TABLE.read_text().splitlines() if " =>" in line and not line.startswith("# T")]
    pairs = [line.split(" =>", 1) for line in lines]
    return [(written.replace("\\n", "\n"), spoken.strip()) for written, spoken in pairs]


def test_table_has_two_hundred_rows() -> None:
    assert len(rows()) >= 200
    assert len(dict(rows())) == len(rows())


@pytest.mark.parametrize(("written", "expected"), rows(), ids=[written for written, _ in rows()])
def test_row_of_the_table_is_spoken_as_it_says(written: str, expected: str) -> None:
    assert verbalize(written).spoken == expected


SIGNS = "aZé7019 .,:;-–/$€%°@#*_`[]()<>|+=~^'\"\n½²😀日\u0301 "


@given(st.text(st.sampled_from(SIGNS), max_size=80))
def test_any_text_becomes_words_and_each_written_word_has_its_place_among_them(text: str) -> None:
    verbalized = verbalize(text)
    words = verbalized.spoken.split()
    assert not re.search(r"[\d*_`#@<>|$€%°/=~^\[\]]", verbalized.spoken)
    assert all(any(map(str.isalpha, word)) for word in words)
    assert len(verbalized.starts) == len(text.split())
    assert all(first <= second for first, second in pairwise(verbalized.starts))


def test_written_words_know_the_first_word_they_are_spoken_as() -> None:
    assert verbalize("It costs $49.50 from St. Louis, i.e. 21 km away.").starts == (0, 1, 2, 7, 8, 9, 10, 12, 13, 14)


@pytest.mark.parametrize(
    "repeated",
    ["1", "1 ", "1.", "1-", "1/", "+1 ", "1 000", "A ", "a.", "[a](", "<a", "*", "| ", " ", "http://", "a@", "$"],
)
def test_text_made_to_be_slow_is_not(repeated: str) -> None:
    began = time.process_time()
    verbalize((repeated * 2000)[:2000])
    assert time.process_time() - began < 2.0


def test_link_in_an_answer_is_spoken_as_its_site() -> None:
    sentence = spoken("See https://www.example.com/a/b_c?d=1#e, or [this page](https://example.org/x).")
    assert sentence == "See example.com, or this page."
    assert verbalize(sentence).spoken == "See example dot com, or this page."
