"""Speech for tests and benchmarks, said by flite, as 24 kHz mono PCM16."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, Frame
from backend.media.sound_file import read_audio

LOUD = 300
"""The sample value (of 32,767) from which flite's clean output is speech."""


@cache
def speech(text: str, voice: str = "slt") -> bytes:
    """Return a voice saying `text` (flite's slt or rms), without its leading and trailing silence."""
    return _voiced(spoken(text, voice))


def spoken(text: str, voice: str = "slt") -> bytes:
    """Return flite saying `text`, with the silence at both ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(path)], check=True, timeout=30)
        return read_audio(path)


def trimmed(pcm: bytes) -> bytes:
    """Return audio from its first loud sample to its last, with silence in front to whole frames.

    Raises `ValueError` on silence.
    """
    voiced = _voiced(pcm)
    return bytes(-len(voiced) % FRAME_BYTES) + voiced


def silence(ms: int) -> bytes:
    """Return `ms` milliseconds of silence."""
    return bytes(2 * (ms * SAMPLE_RATE // 1000))


def frames_of(pcm: bytes) -> list[Frame]:
    """Return the whole frames of PCM16."""
    return [Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)]


def _voiced(pcm: bytes) -> bytes:
    samples = np.frombuffer(pcm, "<i2")
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > LOUD)
    if not len(loud):
        raise ValueError("nothing is loud enough to be speech")
    return samples[loud[0] : loud[-1] + 1].tobytes()
