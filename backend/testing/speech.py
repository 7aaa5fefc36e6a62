"""Sound for tests and benchmarks: speech by flite, tones and noise by numpy, as 24 kHz mono PCM16."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, Frame
from backend.media.sound_file import read_audio

LOUD = 300
"""The sample value (of 32,767) from which flite's clean output is speech."""


@cache
def speech(text: str, voice: str = "slt") -> bytes:
    """Return a voice saying `text` (flite's slt or rms), without its leading and trailing silence."""
    return _voiced(spoken(text, voice))


def spoken(text: str, voice: str = "slt") -> bytes:
    """Return flite saying `text`, silence at both ends included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(path)], check=True, timeout=30)
        return read_audio(path)


def trimmed(pcm: bytes) -> bytes:
    """Return it from the first loud sample to the last, with silence in front to whole frames.

    Raises `ValueError` on silence.
    """
    voiced = _voiced(pcm)
    return bytes(-len(voiced) % FRAME_BYTES) + voiced


def tone(hertz: float, ms: int, *, dbfs: float = -12.0, rate: int = SAMPLE_RATE) -> bytes:
    """Return a sine; `dbfs` is its peak below full scale."""
    t = np.arange(ms * rate // 1000) / rate
    return pcm_of(32767 * 10 ** (dbfs / 20) * np.sin(2 * np.pi * hertz * t))


def noise(ms: int, *, dbfs: float, seed: int = 1) -> bytes:
    """Return white noise; `dbfs` is its power below a full-scale square wave."""
    generator = np.random.default_rng(seed)
    return pcm_of(32767 * 10 ** (dbfs / 20) * generator.standard_normal(ms * SAMPLE_RATE // 1000))


def silence(ms: int) -> bytes:
    """Return silence."""
    return bytes(2 * (ms * SAMPLE_RATE // 1000))


def frames_of(pcm: bytes) -> list[Frame]:
    """Return the whole frames of PCM16."""
    return [Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)]


def samples_of(pcm: bytes) -> NDArray[np.float64]:
    """Return PCM16 as numbers from -32768 to 32767."""
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def pcm_of(samples: NDArray[np.float64]) -> bytes:
    """Return PCM16 from such numbers."""
    return bytes(np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes())


def power(pcm: bytes) -> float:
    """Return the mean square of PCM16."""
    samples = samples_of(pcm)
    return float(np.mean(samples**2)) if len(samples) else 0.0


def _voiced(pcm: bytes) -> bytes:
    samples = np.frombuffer(pcm, "<i2")
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > LOUD)
    if not len(loud):
        raise ValueError("nothing is loud enough to be speech")
    return samples[loud[0] : loud[-1] + 1].tobytes()
