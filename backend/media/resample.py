"""A resampler changes the sample rate of mono PCM16, chunk by chunk, without a click at the seams.

Theory. A rate change by the fraction L/M is a low-pass filter (a windowed sinc, cut off below the lower of the
two Nyquist frequencies) evaluated at the target's instants: each output sample is a dot product of the input
around its instant with one of L shifted copies of the filter. The copies repeat after M input samples, so a
block of M (or a few times M) inputs always meets the same small matrix: the stream is cut into such blocks,
each with the neighbours that its filter reaches, and one matrix product filters them all. Inputs that a later
block needs are kept for the next `push`, so the seams are computed exactly like the rest.

The output is aligned with the input (no delay in the signal), comes half a filter late (about 1 ms), and its
total length is the input's times L/M, rounded up. A `steady` resampler delays the signal by that half filter instead:
it begins with silence, and every push of whole 20 ms returns whole 20 ms, so that no frame waits for the next packet.
"""

from functools import cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from backend.errors import BadRequest

ZERO_CROSSINGS = 16
"""Lobes of the sinc on each side of its middle."""
STOPBAND_BETA = 8.0
"""Kaiser window parameter: about 80 dB of rejection."""
PASSBAND = 0.92
"""The frequency at which the filter begins to fall, as a share of the lower Nyquist frequency."""
BLOCK = 48
"""Inputs in a block, at least: enough to make good use of one matrix product."""

Samples = NDArray[np.float32]


class Resampler:
    """One stream, resampled. Rates are samples per second; raises `BadRequest` below 1,000 and above 384,000."""

    def __init__(self, source_rate: int, target_rate: int, *, steady: bool = False) -> None:
        """`steady`: each push of whole 20 ms returns whole 20 ms, delayed by half a filter (2 ms at 8 kHz).

        Then 20 ms must be whole samples and whole blocks of both rates; raises `BadRequest` otherwise.
        """
        if not (1_000 <= source_rate <= 384_000 and 1_000 <= target_rate <= 384_000):
            raise BadRequest(f"Audio cannot be resampled from {source_rate} to {target_rate} Hz.")
        common = gcd(source_rate, target_rate)
        self._up, self._down = target_rate // common, source_rate // common
        self._passes = source_rate == target_rate
        self._matrix, self._step, self._reach = _filter(self._up, self._down, _frame(source_rate) if steady else 0)
        self._lead = self._reach * (2 if steady else 1)  # silence before the stream
        self._kept: Samples = np.zeros(self._lead, dtype=np.float32)
        self._taken = self._given = 0  # samples, of this stream

    def push(self, pcm: bytes) -> bytes:
        """Take PCM16 in whole samples and return the output that is ready."""
        if self._passes:
            return pcm
        new = np.frombuffer(pcm, dtype="<i2").astype(np.float32)
        self._taken += len(new)
        self._kept = np.concatenate((self._kept, new))
        ready = self._blocks()
        self._given += len(ready)
        return _pcm(ready)

    def flush(self) -> bytes:
        """Return the rest of the output at the end of the stream; the next push begins a new stream."""
        if self._passes:
            return b""
        missing = -(-self._taken * self._up // self._down) - self._given
        self._kept = np.concatenate((self._kept, np.zeros(self._step + 2 * self._reach, dtype=np.float32)))
        rest = self._blocks()[:missing]
        self._kept = np.zeros(self._lead, dtype=np.float32)
        self._taken = self._given = 0
        return _pcm(rest)

    def _blocks(self) -> Samples:
        """Filter all whole blocks, and keep the rest with the last block's neighbours."""
        width = len(self._matrix)
        count = max(0, (len(self._kept) - width) // self._step + 1)
        if not count:
            return np.empty(0, dtype=np.float32)
        # Overlapping rows over one buffer, made by the plain constructor: `as_strided` costs as much as the product.
        rows: Samples = np.ndarray((count, width), np.float32, self._kept, 0, (4 * self._step, 4))
        filtered: Samples = (rows.copy() @ self._matrix).reshape(-1)
        self._kept = self._kept[count * self._step :].copy()
        return filtered


def resample(pcm: bytes, source_rate: int, target_rate: int) -> bytes:
    """Resample a whole recording."""
    resampler = Resampler(source_rate, target_rate)
    return resampler.push(pcm) + resampler.flush()


def _frame(rate: int) -> int:
    """Return the samples in 20 ms. Raises `BadRequest` if they are not whole."""
    samples, rest = divmod(rate, 50)
    if rest:
        raise BadRequest(f"At {rate} Hz, 20 ms are not a whole number of samples.")
    return samples


@cache
def _filter(up: int, down: int, divides: int = 0) -> tuple[Samples, int, int]:
    """Return the block matrix (inputs × outputs), the inputs of a block, and those it reaches on either side.

    `divides` is a number of inputs that must be whole blocks; 0: none.
    """
    repeat = -(-BLOCK // down)
    if divides:
        fitting = [each for each in range(1, repeat + 1) if divides % (down * each) == 0]
        if not fitting:
            raise BadRequest(f"At a rate change by {up}/{down}, 20 ms are not whole blocks.")
        repeat = fitting[-1]
    step, outputs = down * repeat, up * repeat
    cutoff = min(1.0, up / down) * (1 + PASSBAND) / 2  # as a share of the source's Nyquist frequency
    half_width = ZERO_CROSSINGS / min(1.0, up / down)
    reach = int(np.ceil(half_width)) + 1
    inputs_at = np.arange(step + 2 * reach)[:, None] - reach
    outputs_at = np.arange(outputs)[None, :] * (down / up)
    distance = inputs_at - outputs_at
    window = np.i0(STOPBAND_BETA * np.sqrt(np.clip(1 - (distance / half_width) ** 2, 0, None)))
    taps = cutoff * np.sinc(cutoff * distance) * window * (np.abs(distance) <= half_width)
    taps /= taps.sum(axis=0, keepdims=True)
    return taps.astype(np.float32), step, reach


def _pcm(samples: Samples) -> bytes:
    np.rint(samples, out=samples)
    np.minimum(samples, 32767, out=samples)
    np.maximum(samples, -32768, out=samples)
    return samples.astype("<i2").tobytes()
