"""From written text to spoken words."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.extensions.local.dialogue.wording import spoken
from backend.extensions.local.synthesis.verbalize.verbalizer import verbalize

TABLE = Path(__file__).with_name("verbalized.txt")


def rows() -> list[tuple[str, str]]:
    """Written texts and their spoken forms, from the table."""
    lines = [line for line in TABLE.read_text().splitlines() if " =>" in line and not line.startswith("# T")]
    pairs = [line.split(" =>", 1) for line in lines]
    return [(written.replace("\\n", "\n"), spoken.strip()) for written, spoken in pairs]


def test_the_table_has_two_hundred_rows() -> None:
    assert len(rows()) >= 200
    assert len(dict(rows())) == len(rows())


@pytest.mark.parametrize(("written", "expected"), rows(), ids=[written for written, _ in rows()])
def test_a_row_of_the_table_is_spoken_as_it_says(written: str, expected: str) -> None:
    assert verbalize(written) == expected


SIGNS = "aZé7019 .,:;-–/$€%°@#*_`[]()<>|+=~^'\"\n½²😀日\u0301 "


@given(st.text(st.sampled_from(SIGNS), max_size=80))
def test_any_text_becomes_words(text: str) -> None:
    words = verbalize(text)
    assert not re.search(r"[\d*_`#@<>|$€%°/=~^\[\]]", words)
    assert all(any(map(str.isalpha, word)) for word in words.split())


@pytest.mark.parametrize(
    "repeated",
    ["1", "1 ", "1.", "1-", "1/", "+1 ", "1 000", "A ", "a.", "[a](", "<a", "*", "| ", " ", "http://", "a@", "$"],
)
def test_text_made_to_be_slow_is_quick(repeated: str) -> None:
    began = time.process_time()
    verbalize((repeated * 2000)[:2000])
    assert time.process_time() - began < 2.0


def test_a_link_in_an_answer_is_spoken_as_its_site() -> None:
    sentence = spoken("See https://www.example.com/a/b_c?d=1#e, or [this page](https://example.org/x).")
    assert sentence == "See example.com, or this page."
    assert verbalize(sentence) == "See example dot com, or this page."
