"""The callers' speech: by flite where it is installed, else the WAV files in `examples/`.

Every utterance begins with its first loud sample and ends with its last, so that "speech sent" and "end of speech" are
one packet each. The utterance is padded in front to whole 20 ms frames, its last frame is voiced to the end.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from backend.media.sound_file import read_audio
from backend.testing.speech import spoken, trimmed

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


def questions() -> list[bytes]:
    """Utterances that end a turn: 24 kHz mono PCM16."""
    return _utterances(QUESTIONS, "whats-the-weather-in-seattle.wav")


def interruptions() -> list[bytes]:
    """Utterances that take the floor from a reply."""
    return _utterances(INTERRUPTIONS, "stop-tell-me-about-paris.wav")


def _utterances(texts: Sequence[str], example: str) -> list[bytes]:
    if shutil.which("flite"):
        return [trimmed(spoken(text)) for text in texts]
    return [trimmed(read_audio(EXAMPLES / example))]
