"""Speaks the server's own words (`CLIP_WORDS` in `backend/turns/commands.py`) into `backend/call/clips/`.

`python -m scripts.make_clips`, after the words have changed. The voice is the local Responder's.
"""

import wave
from pathlib import Path

from backend.extensions.local.synthesis.voice import speak
from backend.media.frame import SAMPLE_RATE
from backend.turns.commands import CLIP_WORDS

CLIPS = Path(__file__).parent.parent / "backend" / "call" / "clips"


def main() -> None:
    """Write all recordings again."""
    for clip, words in CLIP_WORDS.items():
        with wave.open(str(CLIPS / f"{clip.value}.wav"), "wb") as file:
            file.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
            file.writeframes(speak(words))
        print(f"wrote {clip.value}.wav: {words}")


if __name__ == "__main__":
    main()
