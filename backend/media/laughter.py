"""Laughter, recognised by its rhythm: the same short sound, four to six times a second.

The notes of a laugh follow each other every 170 to 260 ms, and each sounds like the one before; a recogniser finds
words in it all the same. Two syllables of a sentence hardly ever come at such a distance with the same spectrum. So a
sound is laughter if, shifted by one note, it is like itself: its loudness rises and falls at the same moments, and its
spectrum is the same. Two notes and a half are needed. "No no no" can be as regular: the asker decides what words
outweigh this.

The limits were chosen with synthetic laughs and sentences (benchmarks/NOTES.md), not with recordings of people.

Pure: samples in, a decision out.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE: Final = 16_000
"""Samples a second."""
NOTES_MS: Final = range(170, 270, 10)
"""The distances between two notes."""
LEAST_NOTES: Final = 2.5
LOUDNESS_ALIKE: Final = 0.45
"""Correlation of the loudness with that of a note before."""
SPECTRUM_APART_DB: Final = 3.2
"""The most by which the spectrum differs from that of a note before, in the mean of the bands and of the voice."""
_HOP_MS: Final = 10
_HOP, _WINDOW, _SIZE = RATE * _HOP_MS // 1000, RATE * 25 // 1000, 512
_HANN: Final = np.hanning(_WINDOW).astype(np.float32)
_EDGES: Final = [
    round(hertz * _SIZE / RATE) for hertz in (200, 350, 500, 700, 900, 1150, 1450, 1800, 2250, 2800, 3500, 4500)
]
_DEEPEST_DB: Final = 30.0
_BEFORE: Final = 50 // _HOP_MS
"""Frames of quiet before the first note that are looked at: however much is kept of it, a note is not like it."""
_QUIETEST_SHARE: Final = 1e-4
"""Of the strongest band's power: what is below counts as this."""


def is_laughter(sound: NDArray[np.float32]) -> bool:
    """Return whether 16 kHz sound, without its room, is laughter."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, _WINDOW)[::_HOP] * _HANN
    spectra = np.fft.rfft(frames, _SIZE)
    power = spectra.real**2 + spectra.imag**2
    bands = np.add.reduceat(power[:, : _EDGES[-1]], _EDGES[:-1], axis=1)
    energy = bands.sum(axis=1) + 1.0
    loudness = 10 * np.log10(energy)
    loudness = np.maximum(loudness, loudness.max() - _DEEPEST_DB)
    begins = max(0, int(np.argmax(loudness > loudness.max() - _DEEPEST_DB)) - _BEFORE)
    bands, energy, loudness = bands[begins:], energy[begins:], loudness[begins:]
    shapes = 10 * np.log10(bands + bands.max() * _QUIETEST_SHARE + 1.0)
    shapes -= shapes.mean(axis=1, keepdims=True)
    for note_ms in NOTES_MS:
        note = note_ms // _HOP_MS
        if len(energy) < LEAST_NOTES * note:
            return False
        weights = np.sqrt(np.minimum(energy[:-note], energy[note:]))
        apart_db = float(np.average(np.abs(shapes[:-note] - shapes[note:]).mean(axis=1), weights=weights))
        if apart_db <= SPECTRUM_APART_DB and _correlation(loudness[:-note], loudness[note:]) >= LOUDNESS_ALIKE:
            return True
    return False


def _correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    one, other = one - one.mean(), other - other.mean()
    return float(np.dot(one, other) / np.sqrt(np.dot(one, one) * np.dot(other, other) + 1e-6))
