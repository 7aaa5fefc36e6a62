"""Reads a sound file of any format that FFmpeg knows: WAV of integers or floats, MP3, Opus, FLAC, M4A."""

from __future__ import annotations

from pathlib import Path

import av
from av.error import FFmpegError

from backend.errors import BadRequest
from backend.media.frame import SAMPLE_RATE

LONGEST_S = 600
"""Seconds of a file that are read at most."""


class BadAudioFile(BadRequest):
    """The file holds no sound that can be read."""

    hint = "Use a sound file: WAV, MP3, Opus, FLAC or M4A."


def read_audio(path: Path) -> bytes:
    """Return the file's sound as 24 kHz mono PCM16, at most `LONGEST_S` of it. Raises `BadAudioFile`."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise BadAudioFile(f"{path} contains no sound.")
            resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE)
            pcm = bytearray()
            for frame in container.decode(audio=0):
                pcm += b"".join(part.to_ndarray().tobytes() for part in resampler.resample(frame))
                if len(pcm) >= LONGEST_S * 2 * SAMPLE_RATE:
                    break
            pcm += b"".join(part.to_ndarray().tobytes() for part in resampler.resample(None))
    except (FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise BadAudioFile(f"{path} cannot be read: {reason}.") from error
    if not pcm:
        raise BadAudioFile(f"{path} contains no sound.")
    return bytes(pcm[: LONGEST_S * 2 * SAMPLE_RATE])
