"""Prosody is how a voice ends before a pause: its pitch, its level and how long the last syllable is drawn out.

`Prosody` keeps references to the last frames in a bounded ring, which costs an append a frame. Only at a pause are
samples looked at (`ending`), in a third of a millisecond: 40 ms windows every 20 ms at 4 kHz, and the pitch of the
last of them by autocorrelation (75 to 400 Hz).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from backend.media.frame import FRAME_MS, SAMPLE_RATE, Frame
from backend.turns.patience import SpeechEnding

LOOKED_AT_MS = 800
SLOPE_MS = 300
PITCHED_MS = 500
"""Of what is looked at, the end whose pitch is found."""
DECIMATION = 6
RATE = SAMPLE_RATE // DECIMATION
HOP = RATE * FRAME_MS // 1000
WINDOW = 2 * HOP
TRANSFORM = 256
LOWEST_HZ, HIGHEST_HZ = 75, 400
PERIODIC = 0.5
"""Autocorrelation, of 1 for a pure tone, from which a window has a pitch."""
QUIET_DB = 30.0
"""What is this much quieter than the loudest window is silence."""
LEAST_WINDOWS = 5
LEARNED = 0.2
"""Weight of a new stretch in the caller's usual one."""

Vector = NDArray[np.float32]
_MEAN = np.full(DECIMATION, 1 / DECIMATION, np.float32)
_HARMONICS = 900 * TRANSFORM // RATE
"""Bins of the spectrum that are looked at: up to 900 Hz."""
_LAGS = np.arange(RATE // LOWEST_HZ + 2, dtype=np.float32)
_SHORTER: Vector = 1 - np.float32(0.003) * _LAGS
"""What repeats after 5 ms repeats after 10 ms, too: of peaks as high as each other, the first is the pitch."""
_TAPER: Vector = 1 - _LAGS / np.float32(WINDOW)


class Prosody:
    """One caller's voice. Not thread-safe: frames and pauses come from the same task."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque(maxlen=LOOKED_AT_MS // FRAME_MS)
        self._usual_ms = 0.0

    def __repr__(self) -> str:
        return f"Prosody({len(self._frames)} frames, usual stretch {self._usual_ms:.0f} ms)"

    def append(self, frame: Frame) -> None:
        """Keep a frame of speech."""
        self._frames.append(frame)

    def ending(self) -> SpeechEnding | None:
        """Return how the voice ended, and begin again; None when too little was said."""
        samples = np.frombuffer(b"".join(self._frames), np.int16)
        self._frames.clear()
        levels, pitches = contour(samples)
        if len(levels) < LEAST_WINDOWS:
            return None
        stretch = last_stretch(pitches)
        stretch_ms = float(len(stretch) * FRAME_MS)
        lengthened = stretch_ms / self._usual_ms if self._usual_ms and stretch_ms else None
        if stretch_ms:
            weight = LEARNED if self._usual_ms else 1.0
            self._usual_ms += weight * (stretch_ms - self._usual_ms)
        split = len(levels) - 200 // FRAME_MS
        fall = float(levels[:split].mean() - levels[split:].mean()) if split >= LEAST_WINDOWS else None
        return SpeechEnding(slope(pitches), lengthened, fall)


def contour(samples: NDArray[np.int16]) -> tuple[Vector, Vector]:
    """Return the level (dB) every 20 ms and, for the last `PITCHED_MS`, the pitch, both without silent ends.

    A pitch is in semitones over 1 Hz; NaN: there is none.
    """
    length = len(samples) // DECIMATION
    if length < WINDOW:
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    signal = samples[: length * DECIMATION].astype(np.float32).reshape(length, DECIMATION) @ _MEAN
    windows = np.lib.stride_tricks.sliding_window_view(signal, WINDOW)[::HOP]
    windows = windows - windows.mean(axis=1, keepdims=True)
    levels = 10 * np.log10(np.einsum("ij,ij->i", windows, windows) / WINDOW + 1)
    sounding = np.flatnonzero(levels > levels.max() - QUIET_DB)
    first, last = int(sounding[0]), int(sounding[-1]) + 1
    return levels[first:last], _pitches(windows[max(first, last - PITCHED_MS // FRAME_MS) : last])


def _pitches(windows: Vector) -> Vector:
    """Return the pitch of each window."""
    spectra = np.fft.rfft(windows, TRANSFORM)[:, :_HARMONICS]  # more would make peaks narrower than a lag
    lags = np.fft.irfft(spectra.real**2 + spectra.imag**2, TRANSFORM)[:, : len(_TAPER)]
    lags = lags / (lags[:, :1] + 1) / _TAPER
    shortest = RATE // HIGHEST_HZ
    best = shortest + (lags * _SHORTER)[:, shortest:-1].argmax(axis=1)
    rows = np.arange(len(lags))
    before, peak, after = lags[rows, best - 1], lags[rows, best], lags[rows, best + 1]
    bend = before - 2 * peak + after
    # Between two lags lies the true one: the top of a parabola through the peak and its neighbours.
    curved = np.abs(bend) > 1e-9
    exact = best + np.clip(0.5 * (before - after) / np.where(curved, bend, 1) * curved, -0.5, 0.5)
    return np.where(peak >= PERIODIC, 12 * np.log2(RATE / exact), np.float32(np.nan)).astype(np.float32)


def last_stretch(pitches: Vector) -> Vector:
    """Return the last windows in a row that have a pitch."""
    voiced = ~np.isnan(pitches)
    if not voiced.any():
        return pitches[:0]
    end = int(np.flatnonzero(voiced)[-1]) + 1
    gaps = np.flatnonzero(~voiced[:end])
    return pitches[int(gaps[-1]) + 1 if len(gaps) else 0 : end]


def slope(pitches: Vector) -> float | None:
    """Return the semitones per second over the last windows that have a pitch, SLOPE_MS in all; None for too few."""
    at = np.flatnonzero(~np.isnan(pitches))[-(SLOPE_MS // FRAME_MS) :]
    near = at[np.abs(pitches[at] - np.median(pitches[at])) < 7] if len(at) else at
    if len(near) < LEAST_WINDOWS:
        return None
    since = (near - near.mean()) * (FRAME_MS / 1000)
    return float(since @ pitches[near] / (since @ since))
