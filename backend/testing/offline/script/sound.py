"""The sounds a script can ask for, made chunk by chunk: 24 kHz mono PCM16.

Chunks of tones and chirps are kept: under a load test a hundred connections say the same ones over and over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from backend.media.frame import BYTES_PER_MS, SAMPLE_RATE
from backend.testing.offline.script.schema import Chirp, Reply, Tone

MS_PER_CHARACTER = 60
"""How long text without a sound of its own 'speaks'."""
SAMPLES_PER_MS = SAMPLE_RATE // 1000
CHUNKS_KEPT = 512
"""Of tones, and of chirps: a few megabytes at most in chunks of 100 ms."""


class Sound:
    """`length_ms` of sound; any stretch of it can be had on its own, with the phase it has in the whole."""

    def __init__(self, length_ms: int, make: Callable[[int, int], bytes]) -> None:
        self.length_ms = length_ms
        self._make = make

    def between(self, start_ms: int, end_ms: int) -> bytes:
        """PCM16 from `start_ms` to `end_ms`, clamped to the sound's length."""
        return self._make(start_ms, min(end_ms, self.length_ms))


def sound_of(reply: Reply, speak: Callable[[str], bytes]) -> Sound:
    """The sound a reply asks for; `speak` makes 24 kHz PCM16 of words."""
    if reply.tone:
        return tone(reply.tone)
    if reply.chirp:
        return chirp(reply.chirp)
    if reply.silence_ms is not None:
        return Sound(reply.silence_ms, lambda start, end: bytes((end - start) * BYTES_PER_MS))
    if reply.speech:
        return recorded(speak(reply.text))
    return tone(Tone(ms=len(reply.text) * MS_PER_CHARACTER))


def tone(spec: Tone) -> Sound:
    """A steady sine."""
    return Sound(spec.ms, lambda start, end: _tone_between(spec, start, end))


def chirp(spec: Chirp) -> Sound:
    """A sine that rises linearly from `from_hz` to `to_hz` over its length."""
    return Sound(spec.ms, lambda start, end: _chirp_between(spec, start, end))


def recorded(pcm: bytes) -> Sound:
    """Sound that is already there."""
    return Sound(-(-len(pcm) // BYTES_PER_MS), lambda start, end: pcm[start * BYTES_PER_MS : end * BYTES_PER_MS])


@lru_cache(CHUNKS_KEPT)
def _tone_between(spec: Tone, start_ms: int, end_ms: int) -> bytes:
    return _sine(_samples(start_ms, end_ms) * spec.hz / SAMPLE_RATE, spec.amplitude)


@lru_cache(CHUNKS_KEPT)
def _chirp_between(spec: Chirp, start_ms: int, end_ms: int) -> bytes:
    rise = (spec.to_hz - spec.from_hz) / (spec.ms / 1000 or 1)
    seconds = _samples(start_ms, end_ms) / SAMPLE_RATE
    return _sine(spec.from_hz * seconds + rise * seconds * seconds / 2, spec.amplitude)


def _samples(start_ms: int, end_ms: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.arange(start_ms * SAMPLES_PER_MS, end_ms * SAMPLES_PER_MS, dtype=np.float64)


def _sine(cycles: np.ndarray[tuple[int], np.dtype[np.float64]], amplitude: float) -> bytes:
    # Only the fraction of a cycle matters: precision holds over hours.
    return (np.sin(2 * np.pi * (cycles % 1.0)) * amplitude * 32767).astype("<i2").tobytes()
