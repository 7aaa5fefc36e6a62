"""From written text to the words that are spoken."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_responder.synthesis.verbalize.verbalizer import verbalize

TABLE = Path(__file__).with_name("verbalized.txt")


def rows() -> list[tuple[str, str]]:
    """What is written and how it is spoken, from the table."""
    lines = [line for line in TABLE.read_text().splitlines() if " =>" in line and not line.startswith("# T")]
    pairs = [line.split(" =>", 1) for line in lines]
    return [(written.replace("\\n", "\n"), spoken.strip()) for written, spoken in pairs]


def test_table_has_two_hundred_rows() -> None:
    assert len(rows()) >= 200
    assert len(dict(rows())) == len(rows())


@pytest.mark.parametrize(("written", "spoken"), rows(), ids=[written for written, _ in rows()])
def test_row_of_the_table_is_spoken_as_it_says(written: str, spoken: str) -> None:
    assert verbalize(written).spoken == spoken
