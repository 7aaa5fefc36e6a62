"""The local voice in this very process, for programs that speak a text as a whole: the scripted peer and the tour."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from backend.extensions.local.dialogue.wording import sentences
from backend.extensions.local.synthesis.base import Piece
from backend.extensions.local.synthesis.requirements import require_voice_packages
from backend.media.frame import BYTES_PER_MS

if TYPE_CHECKING:
    from backend.extensions.local.synthesis.hibari import HibariVoice

_lock = threading.Lock()


@cache
def the_voice() -> HibariVoice:
    """The process's one voice, loaded on first use. Raises `MissingLibrary`."""
    require_voice_packages()
    from backend.extensions.local.synthesis.hibari import HibariVoice
    from backend.extensions.local.synthesis.voice_files import voice_file

    return HibariVoice(voice_file("", None))


def speak(words: str) -> bytes:
    """Words to 24 kHz mono PCM16, whole. Blocks for a hundredth of the sound's length; safe from any thread."""
    with _lock:
        pieces: list[Piece] = [piece for sentence in sentences(words) for piece in the_voice().pieces(sentence)]
    *earlier, last = pieces or [Piece("", b"")]
    return b"".join(piece.pcm + bytes(piece.pause_ms * BYTES_PER_MS) for piece in earlier) + last.pcm
