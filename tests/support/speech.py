"""Sound, as 24 kHz mono PCM16: speech by flite, tones and noise by numpy."""

import numpy as np
from numpy.typing import NDArray

from backend.media.frame import SAMPLE_RATE
from backend.testing.speech import frames_of as frames_of
from backend.testing.speech import silence as silence
from backend.testing.speech import speech as speech
from backend.testing.speech import spoken as spoken
from backend.testing.speech import trimmed as trimmed


def tone(hertz: float, ms: int, *, dbfs: float = -12.0, rate: int = SAMPLE_RATE) -> bytes:
    """A sine; `dbfs` is its peak below full scale."""
    t = np.arange(ms * rate // 1000) / rate
    return pcm_of(32767 * 10 ** (dbfs / 20) * np.sin(2 * np.pi * hertz * t))


def noise(ms: int, *, dbfs: float, seed: int = 1) -> bytes:
    """White noise; `dbfs` is its power below a full-scale square wave."""
    generator = np.random.default_rng(seed)
    return pcm_of(32767 * 10 ** (dbfs / 20) * generator.standard_normal(ms * SAMPLE_RATE // 1000))


def samples_of(pcm: bytes) -> NDArray[np.float64]:
    """PCM16 as numbers from -32768 to 32767."""
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def pcm_of(samples: NDArray[np.float64]) -> bytes:
    """PCM16 from such numbers."""
    return bytes(np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes())


def power(pcm: bytes) -> float:
    """The mean square of PCM16."""
    samples = samples_of(pcm)
    return float(np.mean(samples**2)) if len(samples) else 0.0
