"""The voice can be understood: the recogniser gets its sound, and hears the words again."""

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest

from backend.extensions.local.dialogue.telling import SAMPLE
from backend.extensions.local.recognition.jobs import AudioJob, decode_heard, encode
from backend.extensions.local.synthesis.verbalize.verbalizer import verbalize
from backend.extensions.local.synthesis.voice import speak

SPOKEN = (
    "It is 7:30 pm and 21 °C outside.",
    "The total comes to $1,250.50, or €7.50 each.",
    "About 3,769,000 people live there.",
    "Dr. Smith lives at 12 Main St., e.g. near the park.",
    "Your meeting is on March 14, 2026 at 9:05.",
    "Call me at 206-555-0123.",
    "Write to bob.smith@example.com or see https://www.example.com/a/b?c=1.",
    "Prices rose 3.5% in 1999 and fell 10–15% in 2008.",
    "Drive 60 km/h for 5-10 km.",
    "Mix 2 1/2 cups of flour with 250 ml of milk.",
    "**Henry VIII** ruled 👑 in the 1530s.",
    "The temperature fell to -5°C on the 21st.",
    "Room 204 is on the 2nd floor, code 4821.",
    "The CEO of NASA uses an API & HTML.",
)
MOST_WRONG = 0.1
"""Share of the words; the recogniser writes some of them in its own way."""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("moonshine_cpp") is None, reason="the recogniser has no package for this machine")
def test_spoken_words_are_recognised_again() -> None:
    from backend.extensions.local.recognition.moonshine import load

    recognise = load()
    pairs = [(words(text), words(heard(recognise, speak(text)))) for text in SPOKEN]
    wrong = sum(distance(said, again) for said, again in pairs)
    assert wrong <= MOST_WRONG * sum(len(said) for said, _ in pairs), pairs
    assert words(heard(recognise, speak(SAMPLE))) == words(SAMPLE), "the words about sample data are heard"


def heard(recognise: Callable[[bytes], Iterator[bytes]], pcm: bytes) -> str:
    *_, last = recognise(encode(AudioJob(pcm)))
    return decode_heard(last).text


def words(text: str) -> list[str]:
    """The words as spoken, however they are written: the recogniser writes 7:30 and $5 too."""
    plain = re.sub(r"[.'’]", "", verbalize(text).lower())
    return re.findall(r"[a-z]+", plain)


def distance(said: list[str], again: list[str]) -> int:
    """The number of words that are wrong, missing or too many."""
    row = list(range(len(again) + 1))
    for number, word in enumerate(said, 1):
        before, row[0] = row[:], number
        for place, other in enumerate(again, 1):
            row[place] = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (word != other))
    return row[-1]
