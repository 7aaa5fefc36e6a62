"""Sounds that a test can recognise after a trip through Opus."""

from collections.abc import Iterable

import numpy as np

from backend.media.frame import SAMPLE_RATE, Frame
from tests.support.speech import frames_of
from tests.support.speech import tone as tone


def tone_frames(hertz: float, frames: int) -> list[Frame]:
    """A sine, cut into frames."""
    return frames_of(tone(hertz, frames * 20))


def pitch(pcm: bytes) -> float:
    """The loudest frequency in `pcm`, in hertz."""
    samples = np.frombuffer(pcm, dtype="<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * SAMPLE_RATE / len(samples))


def audible(frame: Frame) -> bool:
    """Whether a frame holds more than silence and codec noise."""
    return bool(np.abs(np.frombuffer(frame, dtype="<i2").astype(int)).max() > 200)


def loudness_db(frame: Frame) -> float:
    """The level of a frame, in decibels under full scale."""
    samples = np.frombuffer(frame, dtype="<i2").astype(float)
    return float(20 * np.log10(max(np.sqrt(np.mean(samples**2)), 1e-3) / 32768))


def sounding_ms(frames: Iterable[Frame]) -> int:
    """Milliseconds that are louder than a codec's echo of a sound that has ended."""
    samples = np.abs(np.frombuffer(b"".join(frames), dtype="<i2").astype(int))
    return int((samples.reshape(-1, SAMPLE_RATE // 1000).max(axis=1) > 1000).sum())
