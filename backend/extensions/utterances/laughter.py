"""Recognises laughter by its rhythm: the same short sound, four to six times a second.

The notes of a laugh follow each other every 170 to 260 ms and sound alike; a recogniser would find words in them. Two
syllables of a sentence hardly ever have this distance and the same spectrum. So a sound is laughter if its spectrogram
correlates with itself, shifted by one note. Two and a half notes are needed.

The limit comes from synthetic laughs (at least 0.84) and sentences (at most 0.63), not from recordings of people.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE: Final = 16_000
"""Samples a second."""
ALIKE: Final = 0.75
_HOP, _WINDOW, _SIZE = RATE // 100, RATE // 40, 512
_NOTES: Final = range(17, 27)
"""The distances between two notes, in hops of 10 ms."""
_LEAST_NOTES: Final = 2.5
_HANN: Final = np.hanning(_WINDOW).astype(np.float32)
_EDGES: Final = [
    round(hertz * _SIZE / RATE) for hertz in (200, 350, 500, 700, 900, 1150, 1450, 1800, 2250, 2800, 3500, 4500)
]
_DEEPEST: Final = 1e-4
"""The floor of the power, as a share of the strongest band's power."""
_LOUD: Final = 1e-3
"""The least power of a note, as a share of the greatest power; the quiet before the first note is left out."""


def is_laughter(sound: NDArray[np.float32]) -> bool:
    """Return whether 16 kHz sound, cleaned of the room's noise, is laughter."""
    if len(sound) < _WINDOW:
        return False
    frames = np.lib.stride_tricks.sliding_window_view(sound, _WINDOW)[::_HOP] * _HANN
    bands = np.add.reduceat(np.abs(np.fft.rfft(frames, _SIZE)[:, : _EDGES[-1]]) ** 2, _EDGES[:-1], axis=1)
    energy = bands.sum(axis=1)
    bands = bands[np.argmax(energy >= energy.max() * _LOUD) :]
    decibels = 10 * np.log10(bands + bands.max() * _DEEPEST + 1.0)
    notes = [note for note in _NOTES if len(decibels) >= _LEAST_NOTES * note]
    return any(_correlation(decibels[:-note], decibels[note:]) >= ALIKE for note in notes)


def _correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the correlation of two spectrograms, each relative to its mean spectrum."""
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    return float((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum() + 1e-6))
