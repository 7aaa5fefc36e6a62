"""WAV files for a browser's fake microphone: spoken examples with silences between them."""

from __future__ import annotations

import wave
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
WEATHER = EXAMPLES / "whats-the-weather-in-seattle.wav"
UNIVERSE = EXAMPLES / "how-old-is-the-universe.wav"
RATE = 16_000


def microphone_wav(target: Path, *parts: Path | float) -> Path:
    """Write `parts` one after the other to `target`: spoken files, and seconds of silence."""
    with wave.open(str(target), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        for part in parts:
            out.writeframes(samples(part))
    return target


def samples(part: Path | float) -> bytes:
    """16 kHz mono PCM16 of one part."""
    if not isinstance(part, Path):
        return bytes(2 * int(part * RATE))
    with wave.open(str(part), "rb") as source:
        assert (source.getnchannels(), source.getsampwidth(), source.getframerate()) == (1, 2, RATE)
        return source.readframes(source.getnframes())
