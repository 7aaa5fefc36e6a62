"""What our own recognition hears in a sound, and how much of the spoken words that is."""

import difflib
import re

from backend.extensions.local.recognition.choose import open_recognizer
from backend.extensions.local.recognition.pooled import PooledRecognizer
from backend.extensions.local.synthesis.verbalize.verbalizer import verbalize

PIECE = 9600
"""Bytes fed together: 200 ms."""


async def recognized(recognizer: PooledRecognizer, pcm: bytes) -> str:
    """Return the transcript of 24 kHz PCM16."""
    utterance = recognizer.start()
    for start in range(0, len(pcm), PIECE):
        utterance.feed(pcm[start : start + PIECE])
    return await utterance.finish()


async def heard(pcm: bytes) -> str:
    """Return what the recogniser of this machine hears in a sound."""
    recognizer, pool = open_recognizer()
    try:
        return await recognized(recognizer, pcm)
    finally:
        await pool.close()


def share_of_words(said: str, heard: str) -> float:
    """Return the share of the words of `said` that `heard` has in their order, numbers in words."""
    first, second = _words(said), _words(heard)
    blocks = difflib.SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / max(1, len(first))


def _words(text: str) -> list[str]:
    spoken = verbalize(text.replace("’", "'")).lower().replace("'s", " is").replace("-", " ")
    return re.sub(r"[^a-z0-9 ]", "", spoken).split()
