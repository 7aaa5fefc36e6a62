"""What benchmark callers say: spoken by flite where it is installed, else the WAV files in `examples/`.

Every utterance begins with its first loud sample and ends with its last, so that "speech sent" and "end of speech"
are one packet each: the utterance is padded in front to whole 20 ms frames, its last frame is voiced to the end.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from backend.media.frame import FRAME_BYTES, Frame
from backend.media.opus import OpusEncoder
from backend.media.wav import read_wav

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
QUESTIONS = (
    "What is the weather in Seattle tomorrow?",
    "Could you tell me how tall the Eiffel tower is?",
    "Who wrote the music for that film?",
)
INTERRUPTIONS = (
    "No tell me about Paris instead.",
    "Stop there is something else I want to know.",
    "Please hold on that is not what I meant.",
)
"""Without commas and full stops inside: a pause nearly as long as the hangover would make two turns of one."""
LOUD = 300
"""Sample value (of 32,767) from which flite's clean output is speech."""


def questions() -> list[bytes]:
    """Utterances that end a turn: 24 kHz mono PCM16."""
    return _utterances(QUESTIONS, "whats-the-weather-in-seattle.wav")


def interruptions() -> list[bytes]:
    """Utterances that take the floor from a reply."""
    return _utterances(INTERRUPTIONS, "stop-tell-me-about-paris.wav")


def frames(pcm: bytes) -> list[Frame]:
    """Whole frames."""
    return [Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)]


def packets(pcm: bytes) -> list[bytes]:
    """As 20 ms Opus packets."""
    encoder = OpusEncoder()
    try:
        return [encoder.encode(frame) for frame in frames(pcm)]
    finally:
        encoder.close()


def spoken(text: str, voice: str = "slt") -> bytes:
    """flite saying `text`: 24 kHz mono PCM16, silence at both ends included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(path)], check=True, timeout=30)
        return read_wav(path)


def trimmed(pcm: bytes) -> bytes:
    """From the first loud sample to the last, with silence in front to whole frames. Raises `ValueError` on silence."""
    samples = np.frombuffer(pcm, "<i2")
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > LOUD)
    if not len(loud):
        raise ValueError("nothing is loud enough to be speech")
    voiced = samples[loud[0] : loud[-1] + 1].tobytes()
    return bytes(-len(voiced) % FRAME_BYTES) + voiced


def _utterances(texts: Sequence[str], example: str) -> list[bytes]:
    if shutil.which("flite"):
        return [trimmed(spoken(text)) for text in texts]
    return [trimmed(read_wav(EXAMPLES / example))]
