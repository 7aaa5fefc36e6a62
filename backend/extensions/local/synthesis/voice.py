"""The local voice in this process, for programs that need a text's sound as a whole."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from backend.extensions.local.dialogue.wording import sentences
from backend.extensions.local.requirements import installed_voice
from backend.extensions.local.synthesis.jobs import Piece
from backend.media.frame import BYTES_PER_MS

if TYPE_CHECKING:
    from backend.extensions.local.synthesis.hibari import HibariVoice

_lock = threading.Lock()


@cache
def the_voice() -> HibariVoice:
    """Return the one voice of the process, which is loaded on first use. Raises `MissingLibrary`."""
    installed_voice()
    from backend.extensions.local.synthesis.hibari import HibariVoice

    return HibariVoice()


def speak(words: str) -> bytes:
    """Return the sound of words as 24 kHz mono PCM16. Blocks for 1/100 of its length; any thread may call it."""
    with _lock:
        pieces: list[Piece] = [piece for sentence in sentences(words) for piece in the_voice().pieces(sentence)]
    *earlier, last = pieces or [Piece(b"")]
    return b"".join(piece.pcm + bytes(piece.pause_ms * BYTES_PER_MS) for piece in earlier) + last.pcm
