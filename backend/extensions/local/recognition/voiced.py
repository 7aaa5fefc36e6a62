"""Find the voiced parts of an audio buffer: the gate before a recognizer, which must not make words of noise.

Silero VAD (`backend.media.vad_silero`) scores hops of 32 ms. A decoder given a room without a voice says nothing most
of the time; a cough, music or a hum makes it say a word now and then, and so does a long silence behind a sentence.
"""

from __future__ import annotations

import numpy as np

from backend.media.frame import BYTES_PER_MS
from backend.media.vad_silero import SileroEngine

SPEECH = 0.5
"""The probability from which a hop counts as speech."""
LEAST_VOICED_MS = 96
"""Less is a click or a cough; the shortest word that is said alone, "no", has some 150 ms."""
MARGIN_MS = 200
"""Kept on either side of what is speech: the first and the last sound may be too weak to be found."""


def voiced_part(pcm: bytes) -> bytes:
    """Return 24 kHz mono PCM16 from the first speech to the last with a margin; b"" where there is too little."""
    engine = SileroEngine()
    before, size = engine.context_bytes, engine.hop_bytes
    padded = bytes(before) + pcm + bytes(size)
    scores = [engine.score_hop(padded[at : at + before + size]) for at in range(0, len(pcm), size)]
    voiced = np.flatnonzero(np.asarray(scores) >= SPEECH)
    if len(voiced) * size < LEAST_VOICED_MS * BYTES_PER_MS:
        return b""
    margin = MARGIN_MS * BYTES_PER_MS
    return pcm[max(0, int(voiced[0]) * size - margin) : (int(voiced[-1]) + 1) * size + margin]
