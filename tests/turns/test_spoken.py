"""How much of a spoken item was heard."""

from __future__ import annotations

from backend.turns.commands import Purpose
from backend.turns.spoken import BYTES_PER_MS, SpokenItem


def spoken(*, timed: bool) -> SpokenItem:
    """Two pieces: four quick words in a second, then a number that takes two seconds, and a last word."""
    item = SpokenItem("i1", Purpose.ANSWER)
    item.add_text("This is what you ", (0, 200, 400, 700) if timed else ())
    item.audio_bytes += 1000 * BYTES_PER_MS
    item.add_text("pay: $1,234.50 today.", (100, 500, 2500) if timed else ())
    item.audio_bytes += 3000 * BYTES_PER_MS
    return item


def test_words_that_began_are_heard_where_their_times_are_known() -> None:
    item = spoken(timed=True)
    assert item.heard(0) == ""
    assert item.heard(150) == "This"
    assert item.heard(1000) == "This is what you"
    assert item.heard(1200) == "This is what you pay:"
    assert item.heard(3400) == "This is what you pay: $1,234.50"
    assert item.heard(3600) == "This is what you pay: $1,234.50 today."
    assert item.heard(9000) == "This is what you pay: $1,234.50 today."


def test_words_are_shared_out_evenly_where_their_times_are_not_known() -> None:
    assert spoken(timed=False).heard(2000) == "This is what you"


def test_times_that_do_not_fit_the_words_are_ignored() -> None:
    item = SpokenItem("i1", Purpose.ANSWER)
    item.add_text("One two three four", (0, 10))
    item.audio_bytes += 1000 * BYTES_PER_MS
    assert item.word_times == []
    assert item.heard(600) == "One two"
