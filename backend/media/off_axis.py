"""Off-axis speech: a voice that sounds muffled, from another room or from a caller who has turned away.

A mouth that is turned away, a wall or a hand takes the treble of a voice and leaves the rest. So the ratio of treble
(2 to 6 kHz) to rest (200 to 1,000 Hz) is compared with this caller's usual ratio. The louder a frame's rest, the more
it counts (its amplitude is its weight), so that vowels count: consonants have much treble or none, and chance decides
which of them a short word has. The usual ratio is a running mean of the caller's voice. Utterances with much less
treble, off-axis or nearly so, move it ten times more slowly. So asides hardly move it, but a caller with another
microphone sounds usual again after a while.

Every second frame at the beginning of an utterance and every sixth after that is transformed into a spectrum, which
costs more than all other work on a voice that passes the detector without a score.
"""

from math import log10, sqrt
from typing import Final

import numpy as np

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, Frame

OFF_AXIS_DB: Final = 9.0
"""Decibels of treble below the caller's usual from which a voice is off-axis."""
EVERY: Final = 6
EVERY_EARLY: Final = 2
EARLY_FRAMES: Final = 24
"""The frames at the beginning of an utterance in which every `EVERY_EARLY`th is transformed."""
LEAST_SPECTRA: Final = 8
"""The spectra from which an utterance is judged: 320 ms of voice. A "no" alone has next to no treble."""
LEARNT_SPECTRA: Final = 15
"""The spectra from which the usual ratio is known: about a second of voice."""
LOUDEST: Final = 0.03
"""The share of the loudest frame's power that a frame needs to count."""
USUAL_KEPT: Final = 1 - 1 / 60
"""The share that the usual ratio keeps with each spectrum: half of it is replaced within 2.5 s of voice."""
DULL_KEPT: Final = 1 - 1 / 600
DULL_WEIGHT: Final = 0.1
_HERTZ: Final = SAMPLE_RATE / FRAME_SAMPLES
_REST: Final = slice(round(200 / _HERTZ), round(1000 / _HERTZ) + 1)
_TREBLE: Final = slice(round(2000 / _HERTZ), round(6000 / _HERTZ) + 1)
_WINDOW: Final = np.hanning(FRAME_SAMPLES).astype(np.float32)
"""Hann's window, without which the loud bass would leak into the treble."""


class OffAxis:
    """Follows the treble of one caller's voice, from frames that were accepted as the caller's."""

    def __init__(self) -> None:
        self._usual = _WeightedMean()
        self._utterance = _WeightedMean()
        self._learnt = 0
        self._frames = 0
        self._loudest = 0.0
        self.off_axis = False
        """True if the voice of the present utterance, or of the last, sounds off-axis; False while nothing is known."""

    def begin(self) -> None:
        """Begin an utterance."""
        self._utterance = _WeightedMean()
        self._frames = 0
        self._loudest = 0.0
        self.off_axis = False

    def follow(self, frame: Frame) -> None:
        """Take in a frame of the voice."""
        self._frames += 1
        if self._frames % (EVERY if self._frames > EARLY_FRAMES else EVERY_EARLY):
            return
        rest, treble = _bands(frame)
        self._loudest = max(self._loudest, rest)
        if rest < self._loudest * LOUDEST:
            return
        treble_db, weight = 10 * log10(treble / rest), sqrt(rest)
        self._utterance.add(treble_db, weight)
        if self._learnt >= LEARNT_SPECTRA:
            if self._utterance.values < LEAST_SPECTRA:
                return
            below_db = self._usual.value - self._utterance.value
            self.off_axis = below_db > OFF_AXIS_DB
            if below_db > OFF_AXIS_DB / 2:
                self._usual.forget(DULL_KEPT)
                self._usual.add(treble_db, weight * DULL_WEIGHT)
                return
            self._usual.forget(USUAL_KEPT)
        self._learnt += 1
        self._usual.add(treble_db, weight)


class _WeightedMean:
    def __init__(self) -> None:
        self.value = 0.0
        self.values = 0
        self._weight = 0.0

    def add(self, value: float, weight: float) -> None:
        self.values += 1
        self._weight += weight
        self.value += (value - self.value) * weight / self._weight

    def forget(self, kept: float) -> None:
        """Let what was added so far weigh less."""
        self._weight *= kept


def _bands(frame: Frame) -> tuple[float, float]:
    """Return a frame's power of the rest and of the treble, never 0."""
    spectrum = np.fft.rfft(np.frombuffer(frame, "<i2") * _WINDOW)
    rest, treble = spectrum[_REST], spectrum[_TREBLE]
    return float(np.vdot(rest, rest).real) + 1.0, float(np.vdot(treble, treble).real) + 1.0
