"""The binary frames of Pipecat's WebSocket transport: one message of Protocol Buffers, written and read here. Pure.

A `Frame` holds one of `text = 1`, `audio = 2`, `transcription = 3` and `message = 4`. Clients send and take two of
them: audio (`id = 1, name = 2, audio = 3, sample_rate = 4, num_channels = 5`) and a message (`data = 1`, JSON text).
Protobuf's own runtime would get this schema at run time, in as many lines, and brings no types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backend.errors import BadRequest

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of a field: the last three bits of its key."""
AUDIO, MESSAGE = 2, 4
"""Fields of `Frame`."""
VARINT_LIMIT = 10
"""Bytes of the longest number."""


@dataclass(frozen=True, slots=True)
class AudioFrame:
    """Some PCM16 of the client's microphone."""

    pcm: bytes
    rate: int
    channels: int


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """One message, as JSON text."""

    text: bytes


def read_frame(data: bytes) -> AudioFrame | MessageFrame | None:
    """Return what a frame holds; None for text and transcriptions, which clients do not send. Raises `BadRequest`."""
    found: AudioFrame | MessageFrame | None = None
    for number, value in _fields(data):
        if number == AUDIO and isinstance(value, bytes):
            fields = dict(_fields(value))
            pcm, rate, channels = fields.get(3, b""), fields.get(4, 0), fields.get(5, 0)
            if not isinstance(pcm, bytes) or not isinstance(rate, int) or not isinstance(channels, int):
                raise _broken()
            found = AudioFrame(pcm, rate, channels)
        elif number == MESSAGE and isinstance(value, bytes):
            text = dict(_fields(value)).get(1, b"")
            if not isinstance(text, bytes):
                raise _broken()
            found = MessageFrame(text)
    return found


def write_audio(pcm: bytes, rate: int) -> bytes:
    """Return a frame with some mono PCM16."""
    return _field(AUDIO, _field(2, b"audio") + _field(3, pcm) + _number(4, rate) + _number(5, 1))


def write_message(text: bytes) -> bytes:
    """Return a frame with a message."""
    return _field(MESSAGE, _field(1, text))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field, in order. Raises `BadRequest`."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == BYTES:
            size, at = _varint(data, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            raise _broken()
        if size > len(data) - at:
            raise _broken()
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and where it ends."""
    value = 0
    for index in range(VARINT_LIMIT):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise _broken()


def _field(number: int, value: bytes) -> bytes:
    return _written(number << 3 | BYTES) + _written(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _written(number << 3 | VARINT) + _written(value)


def _written(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _broken() -> BadRequest:
    return BadRequest("This is no frame of Pipecat's WebSocket transport.", hint="Use its ProtobufFrameSerializer.")
