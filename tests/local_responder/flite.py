"""Spoken sentences for tests: Debian's flite, two voices."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from backend.media.wav import read_wav

VOICES = ("slt", "rms")


def spoken_by(voice: str, sentence: str) -> bytes:
    """The sentence as 24 kHz mono PCM16."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoken.wav"
        subprocess.run(["flite", "-voice", voice, "-t", sentence, "-o", str(path)], check=True, timeout=20)
        return read_wav(path)
