"""Loudness as ITU-R BS.1770-5 measures it, for one channel, and the gain to a wanted loudness. Pure.

The K-weighting is applied in the frequency domain: a piece of speech is there as a whole, and numpy has no recursive
filter. The two filters are those of the recommendation at any sample rate, from their analogue prototypes (the
parameters are B. De Man's, "Evaluation of implementations of the EBU R128 loudness measurement", AES 145, 2018).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

TARGET_LUFS = -23.0
"""EBU R 128."""
PEAK_LIMIT = 10 ** (-1 / 20)
"""The highest peak, of full scale: -1 dB."""
BLOCK_S, STEP_S = 0.4, 0.1
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0
_OFFSET = -0.691
_SHELF_DB, _SHELF_Q, _SHELF_HZ = 3.999843853973347, 0.7071752369554196, 1681.974450955533
_HIGH_PASS_Q, _HIGH_PASS_HZ = 0.5003270373238773, 38.13547087602444


def loudness_lufs(samples: Samples, sample_rate: int) -> float:
    """The gated loudness of samples (shape `(n,)`, full scale 1.0); minus infinity for silence."""
    power = _block_powers(_k_weighted(samples, sample_rate), sample_rate)
    loud = power[_lufs(power) > ABSOLUTE_GATE_LUFS]
    if not loud.size:
        return -np.inf
    gate = float(_lufs(np.asarray([loud.mean()]))[0]) + RELATIVE_GATE_LU
    return float(_lufs(np.asarray([loud[_lufs(loud) > gate].mean()]))[0])


def gain_to(target_lufs: float, samples: Samples, sample_rate: int) -> float:
    """The factor that brings samples to the loudness, or as near to it as their peak allows; 1 for silence."""
    measured = loudness_lufs(samples, sample_rate)
    if not np.isfinite(measured):
        return 1.0
    wanted = float(10 ** ((target_lufs - measured) / 20))
    return min(wanted, PEAK_LIMIT / float(np.abs(samples).max()))


def _k_weighted(samples: Samples, sample_rate: int) -> NDArray[np.float64]:
    # Zeros behind: the tail of the filters must not come round to the beginning.
    size = 1 << (samples.size + sample_rate // 10 - 1).bit_length()
    weighted = np.fft.irfft(np.fft.rfft(samples, size) * _response(size, sample_rate), size)
    return np.asarray(weighted[: samples.size])


def _block_powers(weighted: NDArray[np.float64], sample_rate: int) -> NDArray[np.float64]:
    """The mean square of every block; of the whole when it is shorter than a block."""
    block, step = int(BLOCK_S * sample_rate), int(STEP_S * sample_rate)
    summed = np.concatenate([[0.0], np.cumsum(weighted**2)])
    starts = np.arange(0, max(1, weighted.size - block + 1), step)
    ends = np.minimum(starts + block, weighted.size)
    return np.asarray((summed[ends] - summed[starts]) / np.maximum(1, ends - starts))


def _lufs(power: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_OFFSET + 10 * np.log10(np.maximum(power, 1e-12)))


@lru_cache(8)
def _response(size: int, sample_rate: int) -> NDArray[np.complex128]:
    z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    return np.asarray(_shelf(z, sample_rate) * _high_pass(z, sample_rate))


def _shelf(z: NDArray[np.complex128], sample_rate: int) -> NDArray[np.complex128]:
    k = np.tan(np.pi * _SHELF_HZ / sample_rate)
    high = 10 ** (_SHELF_DB / 20)
    band = high**0.4996667741545416
    above = (high + band * k / _SHELF_Q + k * k) + 2 * (k * k - high) * z + (high - band * k / _SHELF_Q + k * k) * z**2
    below = (1 + k / _SHELF_Q + k * k) + 2 * (k * k - 1) * z + (1 - k / _SHELF_Q + k * k) * z**2
    return np.asarray(above / below)


def _high_pass(z: NDArray[np.complex128], sample_rate: int) -> NDArray[np.complex128]:
    k = np.tan(np.pi * _HIGH_PASS_HZ / sample_rate)
    scale = 1 + k / _HIGH_PASS_Q + k * k
    below = scale + 2 * (k * k - 1) * z + (1 - k / _HIGH_PASS_Q + k * k) * z**2
    return np.asarray(scale * (1 - 2 * z + z**2) / below)
