"""Sound files: reads any format that FFmpeg knows (WAV, MP3, Opus, FLAC, M4A), and writes WAV."""

import wave
from pathlib import Path

import av
from av.error import FFmpegError

from backend.errors import BadRequest, SetupError
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample

LONGEST_S = 600
"""The most seconds of a file that are read."""


class BadAudioFile(BadRequest):
    """The file holds no sound that can be read."""

    hint = "Use a sound file: WAV, MP3, Opus, FLAC or M4A."


def read_audio(path: str | Path) -> bytes:
    """Return the file's sound as 24 kHz mono PCM16, at most `LONGEST_S` of it. Raises `BadAudioFile`."""
    pcm, rate = bytearray(), SAMPLE_RATE
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise BadAudioFile(f"{path} contains no sound.")
            rate = container.streams.audio[0].rate
            mono = av.AudioResampler(format="s16", layout="mono", rate=rate)
            for frame in container.decode(audio=0):
                pcm += b"".join(part.to_ndarray().tobytes() for part in mono.resample(frame))
                if len(pcm) >= LONGEST_S * 2 * rate:
                    break
            pcm += b"".join(part.to_ndarray().tobytes() for part in mono.resample(None))
    except (FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise BadAudioFile(f"{path} cannot be read: {reason}.") from error
    if not pcm:
        raise BadAudioFile(f"{path} contains no sound.")
    return resample(bytes(pcm[: LONGEST_S * 2 * rate]), rate, SAMPLE_RATE)


def write_wav(path: str | Path, pcm: bytes, rate: int = SAMPLE_RATE) -> None:
    """Write mono PCM16 as a WAV file. Raises `SetupError` if the file cannot be written."""
    try:
        with Path(path).open("wb") as file, wave.open(file, "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(rate)
            out.writeframes(pcm)
    except OSError as error:
        raise SetupError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Name a file in a folder that exists and that you may write to.",
        ) from error
