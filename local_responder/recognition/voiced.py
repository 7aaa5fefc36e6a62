"""Where in an audio buffer somebody speaks: the gate before a recognizer, which must not make words of noise.

Silero VAD (`backend.media.vad_silero`) scores hops of 32 ms. A decoder given a room without a voice says nothing most
of the time; a cough, music or a hum makes it say a word now and then.
"""

from __future__ import annotations

from backend.media.frame import BYTES_PER_MS
from backend.media.vad_silero import SileroEngine

SPEECH = 0.5
"""The probability from which a hop counts as speech."""


def voiced_ms(pcm: bytes) -> int:
    """Return the milliseconds of speech in 24 kHz mono PCM16."""
    engine = SileroEngine()
    before, size = engine.context_bytes, engine.hop_bytes
    padded = bytes(before) + pcm
    starts = range(0, len(pcm) - size + 1, size)
    scores = [engine.score_hop(padded[at : at + before + size]) for at in starts]
    engine.close()
    return sum(score >= SPEECH for score in scores) * size // BYTES_PER_MS
