"""How much of a spoken item was heard."""

from backend.turns.spoken import BYTES_PER_MS, SpokenItem


def test_the_heard_share_of_the_sound_gives_the_heard_whole_words() -> None:
    item = SpokenItem("i1", None, "This is what you pay: $1,234.50 today.", 4000 * BYTES_PER_MS)
    assert item.heard(0) == ""
    assert item.heard(2000) == "This is what you"
    assert item.heard(9000) == "This is what you pay: $1,234.50 today."
