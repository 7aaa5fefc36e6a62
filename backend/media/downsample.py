"""Speech at 24 kHz made into speech at 16 kHz, frame by frame: two samples of every three, low-passed below 8 kHz."""

from __future__ import annotations

import numpy as np

from backend.media.frame import Frame

_TAPS = 16
"""Of each of the two phases; they delay the speech by a third of a millisecond."""
_CUTOFF = 0.9 * 8_000 / 48_000
"""Cycles a sample at 48 kHz, the rate that both rates divide."""


def _phases() -> tuple[np.ndarray, np.ndarray]:
    places = np.arange(2 * _TAPS) - (2 * _TAPS - 1) / 2
    kernel = np.sinc(2 * _CUTOFF * places) * np.kaiser(2 * _TAPS, 6.0)
    even, odd = kernel[0::2][::-1], kernel[1::2][::-1]
    return even / even.sum(), odd / odd.sum()


_EVEN, _ODD = _phases()


class Downsampler:
    """Holds the end of one frame for the beginning of the next."""

    def __init__(self) -> None:
        self._last = np.zeros(_TAPS - 1, np.float64)

    def take(self, frame: Frame) -> bytes:
        """Return the frame's 20 ms as 320 samples of PCM16."""
        samples = np.concatenate((self._last, np.frombuffer(frame, "<i2")))
        self._last = samples[1 - _TAPS :]
        windows = np.lib.stride_tricks.sliding_window_view(samples, _TAPS)
        made = np.empty(2 * len(windows) // 3)
        made[0::2] = windows[0::3] @ _EVEN
        made[1::2] = windows[1::3] @ _ODD
        return np.clip(np.rint(made), -32768, 32767).astype("<i2").tobytes()
