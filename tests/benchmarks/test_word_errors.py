"""The word error rate of the recognition benchmark."""

import pytest

from benchmarks.recognition.word_errors import errors


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("My number is four one five, zero.", "my number is 415-0"),
        ("It costs sixty three dollars and fifty cents.", "It costs $63.50."),
        ("I was born on the twenty first of April, nineteen eighty five.", "i was born on the 21st of April 1985"),
        ("Two hundred and twelve Baker Street.", "212 Baker St."),
        ("Two thousand people came at nine o'clock.", "2,000 people came at 9:00"),
        ("It is fifteen percent more.", "It's 15% more"),
        ("The second exit.", "the 2nd exit"),
        ("I can not see the neighbour.", "I can't see the neighbor."),
    ],
)
def test_words_that_sound_the_same_are_no_error(said: str, heard: str) -> None:
    assert errors(said, heard)[0] == 0


@pytest.mark.parametrize(
    ("said", "heard", "wrong"),
    [
        ("one two three", "one two", 1),
        ("one two three", "one two three four", 1),
        ("Who wrote it?", "Who rode it?", 1),
        ("twenty two", "twenty three", 1),
        ("Good morning.", "", 2),
    ],
)
def test_a_missing_added_or_different_word_is_an_error(said: str, heard: str, wrong: int) -> None:
    assert errors(said, heard)[0] == wrong
