"""The frame, the one form of audio inside the server.

A `Frame` is 20 ms of 24 kHz mono PCM16, little-endian: 480 samples, 960 bytes. It is plain `bytes` under a name of its
own, so that passing one on costs nothing and the type checker distinguishes it from other bytes. The Realtime API uses
24 kHz, and libopus encodes and decodes it directly.
"""

from typing import NewType

SAMPLE_RATE = 24_000
"""Samples per second."""
FRAME_MS = 20
FRAME_SAMPLES = SAMPLE_RATE * FRAME_MS // 1000
FRAME_BYTES = FRAME_SAMPLES * 2
BYTES_PER_MS = SAMPLE_RATE * 2 // 1000
"""Bytes of PCM16 in a millisecond (48)."""

Frame = NewType("Frame", bytes)

SILENCE = Frame(bytes(FRAME_BYTES))
"""Twenty milliseconds of silence."""


def milliseconds(pcm_bytes: int) -> int:
    """Return the whole milliseconds in `pcm_bytes` bytes of 24 kHz mono PCM16."""
    return pcm_bytes // BYTES_PER_MS
