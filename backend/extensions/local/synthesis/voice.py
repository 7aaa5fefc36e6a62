"""The local voice within this process, for programs that speak a text as a whole."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from backend.extensions.local.dialogue.wording import sentences
from backend.extensions.local.synthesis.jobs import Piece
from backend.extensions.local.synthesis.requirements import installed_voice
from backend.media.frame import BYTES_PER_MS

if TYPE_CHECKING:
    from backend.extensions.local.synthesis.hibari import HibariVoice

_lock = threading.Lock()


@cache
def the_voice() -> HibariVoice:
    """Return the process's one voice, loaded on first use. Raises `MissingLibrary`."""
    installed_voice()
    from backend.extensions.local.synthesis.hibari import HibariVoice

    return HibariVoice()


def speak(words: str) -> bytes:
    """Return words as 24 kHz mono PCM16, whole. Blocks for a hundredth of the sound's length; safe from any thread."""
    with _lock:
        pieces: list[Piece] = [piece for sentence in sentences(words) for piece in the_voice().pieces(sentence)]
    *earlier, last = pieces or [Piece(b"")]
    return b"".join(piece.pcm + bytes(piece.pause_ms * BYTES_PER_MS) for piece in earlier) + last.pcm
