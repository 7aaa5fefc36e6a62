"""Spoken sentences for tests: Debian's flite, and the local Responder's own voice."""

import subprocess
import tempfile
from pathlib import Path

from backend.extensions.local.synthesis.voice import speak
from backend.media.sound_file import read_audio

VOICES = ("slt", "hibari")


def spoken_by(voice: str, sentence: str) -> bytes:
    """The sentence as 24 kHz mono PCM16."""
    if voice == "hibari":
        return speak(sentence)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoken.wav"
        subprocess.run(["flite", "-voice", voice, "-t", sentence, "-o", str(path)], check=True, timeout=20)
        return read_audio(path)
