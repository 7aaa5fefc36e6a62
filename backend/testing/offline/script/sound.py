"""The sounds of scripted replies, made chunk by chunk: 24 kHz mono PCM16.

Chunks are kept, since the connections of a load test use the same ones.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from backend.media.frame import SAMPLE_RATE
from backend.testing.offline.script.schema import ScriptedReply

MS_PER_CHARACTER = 60
"""The milliseconds of sound for each character of text without a tone."""
USUAL_HZ = 440.0
SAMPLES_PER_MS = SAMPLE_RATE // 1000
AMPLITUDE = 0.3
CHUNKS_KEPT = 512
"""The most chunks of 100 ms that are kept: a few megabytes."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A sine of `length_ms` that goes linearly from one pitch to another."""

    from_hz: float
    to_hz: float
    length_ms: int

    def between(self, start_ms: int, end_ms: int) -> bytes:
        """Return PCM16 from `start_ms` to `end_ms`, with the phase that this stretch has in the whole."""
        return _between(self, start_ms, min(end_ms, self.length_ms))


def sound_of(reply: ScriptedReply) -> Sound:
    """Return the sound of a reply."""
    if tone := reply.tone:
        return Sound(tone.hz, tone.to_hz or tone.hz, tone.ms)
    return Sound(USUAL_HZ, USUAL_HZ, len(reply.text) * MS_PER_CHARACTER)


@lru_cache(CHUNKS_KEPT)
def _between(sound: Sound, start_ms: int, end_ms: int) -> bytes:
    rise = (sound.to_hz - sound.from_hz) / (sound.length_ms / 1000 or 1)
    seconds = np.arange(start_ms * SAMPLES_PER_MS, end_ms * SAMPLES_PER_MS, dtype=np.float64) / SAMPLE_RATE
    cycles = sound.from_hz * seconds + rise * seconds * seconds / 2
    # Only the fraction of a cycle matters: precision holds over hours.
    return bytes((np.sin(2 * np.pi * (cycles % 1.0)) * AMPLITUDE * 32767).astype("<i2").tobytes())
