"""The server's own words, for when the Responder has none: read once, 24 kHz mono PCM16."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from backend.conversation.commands import Clip
from backend.media.wav import read_wav

FOLDER = Path(__file__).parent / "clips"


@cache
def clip_audio(clip: Clip) -> bytes:
    """The recording of `clip`. Made by `scripts/make_clips.sh`."""
    return read_wav(FOLDER / f"{clip.value}.wav")


def load_clips() -> None:
    """Read them all now, so that no caller waits for a disk. Raises what `read_wav` raises."""
    for clip in Clip:
        clip_audio(clip)
