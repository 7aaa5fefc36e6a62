"""WAV files in and out: any PCM in, 24 kHz mono PCM16 inside.

A WAV file is a RIFF list of chunks; `fmt ` describes the samples and `data` holds them. The standard library's
reader refuses WAVE_FORMAT_EXTENSIBLE, which many programs write for 24-bit sound, so this one reads chunks itself.
"""

from __future__ import annotations

import struct
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.errors import BadRequest, SetupError
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample

_PCM = 1
_EXTENSIBLE = 0xFFFE


class BadWav(BadRequest):
    """The file is not sound we can read."""

    hint = "Give a PCM WAV file: 8 to 48 kHz, mono or stereo, 8, 16, 24 or 32 bits."


def read_wav(path: str | Path) -> bytes:
    """Return the file's sound as 24 kHz mono PCM16. Raises `BadWav`."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise BadWav(f"{path} cannot be read: {error.strerror}.") from error
    chunks = dict(_chunks(content, str(path)))
    if b"fmt " not in chunks or b"data" not in chunks:
        raise BadWav(f"{path} is not a complete WAV file.")
    channels, rate, bits = _format(chunks[b"fmt "], str(path))
    return resample(_mono(chunks[b"data"], channels, bits), rate, SAMPLE_RATE)


def write_wav(path: str | Path, pcm: bytes, rate: int = SAMPLE_RATE) -> None:
    """Write mono PCM16. Raises `SetupError` where the file cannot be written."""
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


def _chunks(content: bytes, path: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield each chunk's name and bytes; a last one cut short (a recording that was interrupted) is taken as it is."""
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise BadWav(f"{path} is not a WAV file.")
    at = 12
    while at + 8 <= len(content):
        name, size = struct.unpack_from("<4sI", content, at)
        yield name, content[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _format(chunk: bytes, path: str) -> tuple[int, int, int]:
    """Return channels, samples per second and bits of a sample."""
    if len(chunk) < 16:
        raise BadWav(f"{path} is not a complete WAV file.")
    code, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if code == _EXTENSIBLE and len(chunk) >= 26:
        (code,) = struct.unpack_from("<H", chunk, 24)
    if code != _PCM:
        raise BadWav(f"{path} is compressed or floating-point (format {code}).")
    if not (8_000 <= rate <= 48_000 and channels in (1, 2) and bits in (8, 16, 24, 32)):
        raise BadWav(f"{path} has {channels} channels of {bits} bits at {rate} Hz.")
    return channels, rate, bits


def _mono(data: bytes, channels: int, bits: int) -> bytes:
    width = channels * bits // 8
    samples = _sixteen_bits(data[: len(data) // width * width], bits)
    if channels == 1:
        return samples.astype("<i2").tobytes()
    both = samples.reshape(-1, 2).astype(np.int32)
    middle: NDArray[np.int32] = (both[:, 0] + both[:, 1]) >> 1
    return middle.astype("<i2").tobytes()


def _sixteen_bits(data: bytes, bits: int) -> NDArray[np.int16]:
    """Return the upper sixteen bits of each sample; eight-bit samples are unsigned by the standard, others signed."""
    if bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.int16) - 128) << 8
    if bits == 16:
        return np.frombuffer(data, "<i2")
    bytes_each = bits // 8
    upper = np.frombuffer(data, np.uint8).reshape(-1, bytes_each)[:, -2:]
    return np.ascontiguousarray(upper).view("<i2").reshape(-1)
