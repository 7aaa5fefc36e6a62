"""The ends of a piece of speech: surplus silence is cut, and the sound begins and ends without a step. Pure."""

import numpy as np
from numpy.typing import NDArray

from backend.media.frame import SAMPLE_RATE

Samples = NDArray[np.float32]

SILENCE_DB = -48.0
"""The level, in dB below the piece's loudest stretch, under which its ends count as silence."""
STRETCH = SAMPLE_RATE // 200
"""The number of samples over which a level is measured: 5 ms."""
LEAD_MS, TAIL_MS = 30, 60
"""The milliseconds of silence kept before the first sound and after the last: they may hold soft consonants."""
FADE_IN_MS, FADE_OUT_MS = 8, 30


def trimmed(samples: Samples) -> Samples:
    """Return the samples without silence at the ends and without an offset, faded in and out; empty for silence."""
    count = samples.size // STRETCH
    if count == 0:
        return samples[:0]
    power = np.square(samples[: count * STRETCH].reshape(count, STRETCH)).mean(axis=1)
    loud = np.flatnonzero(power > max(float(power.max()) * 10 ** (SILENCE_DB / 10), 1e-9))
    if not loud.size:
        return samples[:0]
    start = max(0, int(loud[0]) * STRETCH - _samples(LEAD_MS))
    end = min(samples.size, (int(loud[-1]) + 1) * STRETCH + _samples(TAIL_MS))
    return _faded(samples[start:end])


def _faded(samples: Samples) -> Samples:
    centred: Samples = samples - samples.mean()
    for length, part in ((_samples(FADE_IN_MS), centred), (_samples(FADE_OUT_MS), centred[::-1])):
        size = min(length, part.size)
        part[:size] *= 0.5 - 0.5 * np.cos(np.pi * np.arange(size, dtype=np.float32) / max(1, size))
    return centred


def _samples(ms: int) -> int:
    return ms * SAMPLE_RATE // 1000
