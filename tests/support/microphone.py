"""WAV files for a browser's fake microphone: spoken examples with silences between them."""

import subprocess
import tempfile
import wave
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
WEATHER = EXAMPLES / "whats-the-weather-in-seattle.wav"
UNIVERSE = "how old is the universe"
"""Not the example with these words: recognition mishears that one at 33 of 72 cuts of its edges, and this one at none.
"""
VOICE = "rms"
RATE = 16_000


def microphone_wav(target: Path, *parts: Path | str | float) -> Path:
    """Write `parts` one after the other to `target`: spoken files, words for flite to speak, seconds of silence."""
    with wave.open(str(target), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        for part in parts:
            out.writeframes(samples(part))
    return target


def samples(part: Path | str | float) -> bytes:
    """16 kHz mono PCM16 of one part."""
    if isinstance(part, str):
        with tempfile.NamedTemporaryFile(suffix=".wav") as spoken:
            subprocess.run(["flite", "-voice", VOICE, "-t", part, "-o", spoken.name], check=True)
            return samples(Path(spoken.name))
    if not isinstance(part, Path):
        return bytes(2 * int(part * RATE))
    with wave.open(str(part), "rb") as source:
        assert (source.getnchannels(), source.getsampwidth(), source.getframerate()) == (1, 2, RATE)
        return source.readframes(source.getnframes())
