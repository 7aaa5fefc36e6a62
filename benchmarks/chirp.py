"""Whether a known chirp arrived whole: the samples that were lost or repeated on its way. Pure.

Theory. The Responder plays a sine with a steadily rising pitch, so every moment of it differs from every other. The
received sound is compared, in windows of 80 ms, with the chirp itself. The shift of the best match gives the window's
place in the chirp. A whole chirp has the same shift throughout, the codec's delay. A growing shift means missing
samples, a shrinking one means repeated or inserted samples. Shifts below a millisecond are the codec's own imprecision
and are not counted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.media.frame import SAMPLE_RATE

WINDOW = 1920
"""Samples compared together: 80 ms."""
SETTLED = 480
"""Samples after which the codec follows a sudden beginning."""
REACH = 4800
"""The largest shift that is searched, in either direction: 200 ms."""
TOLERANCE = 24
"""Samples (1 ms) a shift may waver by itself."""
END_TOLERANCE = 120
"""The same at the chirp's end, where the codec rings (5 ms)."""
LIKENESS = 0.6
"""Correlation below which a window is not the chirp at all."""
SURE = 0.9
"""Correlation from which a window stands at the expected place, if its summit is there: a chirp has no second."""
QUIET = 0.1
"""Share of the chirp's loudness below which it is over."""
CODEC_DELAY = 156
"""Samples that our Opus encoder looks ahead at 24 kHz (6.5 ms): the delay of all sound."""

Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Chirp:
    """The chirp of the Responder's script: a sine rising linearly over `ms`."""

    from_hz: float
    to_hz: float
    ms: int

    @property
    def samples(self) -> int:
        """Its length at 24 kHz."""
        return self.ms * SAMPLE_RATE // 1000

    def analytic(self, first: int, count: int) -> Complex:
        """Samples `first` to `first + count` as complex exponentials; outside the chirp there is nothing."""
        at = np.arange(first, first + count)
        seconds = at / SAMPLE_RATE
        rise = (self.to_hz - self.from_hz) / (self.ms / 1000)
        wave: Complex = np.exp(2j * np.pi * (self.from_hz * seconds + rise * seconds * seconds / 2))
        wave[(at < 0) | (at >= self.samples)] = 0
        return wave


@dataclass(frozen=True, slots=True)
class Wholeness:
    """The losses of one chirp, in samples at 24 kHz."""

    lost: int
    repeated: int
    glitches: int
    """Places of a loss or a repetition, or where the sound was not the chirp."""


def wholeness(heard: bytes, chirp: Chirp, delay: int = CODEC_DELAY) -> Wholeness:
    """Compare PCM16 that begins with the first audible packet. `delay`: samples that the codec puts in front."""
    samples = np.frombuffer(heard, "<i2").astype(np.float64)
    ahead, lost, repeated, glitches = -delay, 0, 0, 0  # ahead: how far the chirp is beyond our count of samples
    at = SETTLED
    while at + WINDOW <= len(samples) and at + ahead + WINDOW <= chirp.samples:
        shift, likeness = _shift(samples[at : at + WINDOW], chirp, at + ahead)
        if likeness < LIKENESS or abs(shift) > TOLERANCE:
            at += WINDOW  # the slip is somewhere in this window: the next one stands wholly behind it
            shift, likeness = _shift(samples[at : at + WINDOW], chirp, at + ahead)
            shift = shift if likeness >= LIKENESS else 0
            lost, repeated, glitches = lost + max(0, shift), repeated + max(0, -shift), glitches + 1
            ahead += shift
        at += WINDOW
    missing = chirp.samples - (_end(samples) + ahead)
    if missing > END_TOLERANCE:
        return Wholeness(lost + missing, repeated, glitches + 1)
    return Wholeness(lost, repeated, glitches)


def _end(samples: NDArray[np.float64]) -> int:
    """The sample at which the sound stops."""
    loud = np.flatnonzero(np.abs(samples) > QUIET * np.max(np.abs(samples), initial=1.0))
    return int(loud[-1]) + 1 if len(loud) else 0


def _shift(window: NDArray[np.float64], chirp: Chirp, first: int) -> tuple[int, float]:
    """The true position of the window in the chirp after `first`, and the correlation there (0 to 1)."""
    if not np.any(window):
        return 0, 0.0
    shift, likeness = _best(window, chirp, first, TOLERANCE)
    if abs(shift) < TOLERANCE and likeness >= SURE:
        return shift, likeness
    return _best(window, chirp, first, REACH)  # costs ten times as much


def _best(window: NDArray[np.float64], chirp: Chirp, first: int, reach: int) -> tuple[int, float]:
    reference = chirp.analytic(first - reach, WINDOW + 2 * reach)
    size = 1 << (len(reference) + WINDOW).bit_length()
    agreement = np.fft.ifft(np.fft.fft(reference, size) * np.conj(np.fft.fft(window, size)))
    strengths = np.abs(agreement[: 2 * reach + 1])
    best = int(np.argmax(strengths))
    strength = float(np.sqrt(np.sum(window**2) * len(window) / 2))
    return best - reach, float(strengths[best] / strength)
