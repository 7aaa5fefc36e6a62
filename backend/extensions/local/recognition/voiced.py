"""The gate before a recognizer, which would turn noise into words: it finds the voiced part of an audio buffer.

Silero VAD (`backend.media.vad_silero`) scores hops of 32 ms. From a room without a voice, a decoder mostly makes no
words; a cough, music or a hum makes it give a word now and then, and so does a long silence after a sentence.
"""

import numpy as np

from backend.media.frame import BYTES_PER_MS
from backend.media.vad_silero import SileroEngine

SPEECH = 0.5
"""The probability from which a hop counts as speech."""
LEAST_VOICED_MS = 96
"""The fewest milliseconds of a voice; a click or a cough has less, and the shortest word, "no", has some 150."""
MARGIN_MS = 200
"""The milliseconds kept on both sides of speech: the first and the last sound may be too weak to be found."""


def voiced_part(pcm: bytes) -> bytes:
    """Return 24 kHz mono PCM16 from the first speech to the last, with margins; b"" if there is too little speech."""
    engine = SileroEngine()
    before, size = engine.context_bytes, engine.hop_bytes
    padded = bytes(before) + pcm + bytes(size)
    scores = [engine.score_hop(padded[at : at + before + size]) for at in range(0, len(pcm), size)]
    voiced = np.flatnonzero(np.asarray(scores) >= SPEECH)
    if len(voiced) * size < LEAST_VOICED_MS * BYTES_PER_MS:
        return b""
    margin = MARGIN_MS * BYTES_PER_MS
    return pcm[max(0, int(voiced[0]) * size - margin) : (int(voiced[-1]) + 1) * size + margin]
