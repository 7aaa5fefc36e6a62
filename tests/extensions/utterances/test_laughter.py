"""Laughter is recognised by its rhythm."""

import shutil

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.extensions.utterances.laughter import RATE, is_laughter
from tests.support.speech import samples_of, speech

Samples = NDArray[np.float32]
SAME, CHANGING = (700,), (400, 2000, 900, 2800)
"""Formants of the notes."""


def laugh(note_ms: int, notes: int, vowels: tuple[int, ...]) -> Samples:
    """Notes of a voice of 220 Hz through one formant each, with breath between them, after 300 ms of quiet."""
    chance = np.random.default_rng(3)
    length = RATE * note_ms // 1000
    time = np.arange(length) / RATE
    swell = np.clip((time / time[-1] - 0.3) / 0.08, 0, 1) * (time / time[-1] < 0.85)
    out = [chance.standard_normal(RATE * 300 // 1000) * 0.001]
    for number in range(notes):
        formant = vowels[number % len(vowels)]
        voice = sum(np.sin(2 * np.pi * 220 * n * time) / (1 + ((220 * n - formant) / 150) ** 2) for n in range(1, 18))
        out.append(voice * swell * 0.9**number + 0.05 * chance.standard_normal(length))
    return np.asarray(3000 * np.concatenate(out), np.float32)


@pytest.mark.parametrize(
    ("note_ms", "notes", "vowels", "laughs"),
    [
        (180, 3, SAME, True),
        (210, 5, SAME, True),
        (250, 3, SAME, True),
        (210, 2, SAME, False),
        (400, 4, SAME, False),
        (210, 4, CHANGING, False),
    ],
)
def test_a_note_repeated_in_a_rhythm_is_laughter(
    note_ms: int, notes: int, vowels: tuple[int, ...], laughs: bool
) -> None:
    assert is_laughter(laugh(note_ms, notes, vowels)) is laughs


def test_silence_and_a_breath_are_no_laughter() -> None:
    assert not is_laughter(np.zeros(RATE, np.float32))
    assert not is_laughter(np.random.default_rng(1).standard_normal(RATE).astype(np.float32) * 300)
    assert not is_laughter(np.zeros(100, np.float32))


@pytest.mark.skipif(not shutil.which("flite"), reason="needs flite")
@pytest.mark.parametrize("text", ["hold on a second", "what about next week instead", "stop", "tell me more"])
@pytest.mark.parametrize("voice", ["slt", "awb"])
def test_words_are_no_laughter(text: str, voice: str) -> None:
    said = samples_of(speech(text, voice)).astype(np.float32)
    heard = np.interp(np.arange(0, len(said), 1.5), np.arange(len(said)), said).astype(np.float32)
    for ms in (400, 640, 1100):
        assert not is_laughter(heard[: RATE * ms // 1000])
