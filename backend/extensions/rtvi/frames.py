"""Reads and writes the binary frames of Pipecat's WebSocket transport, each a message of Protocol Buffers. Pure.

A `Frame` holds one of `text = 1`, `audio = 2`, `transcription = 3` and `message = 4`. Clients send and take two of
them: audio (`id = 1, name = 2, audio = 3, sample_rate = 4, num_channels = 5`) and a message (`data = 1`, JSON text).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backend.errors import BadRequest
from backend.media.protobuf import Value, field, fields

AUDIO, MESSAGE = 2, 4
"""Fields of `Frame`."""


@dataclass(frozen=True, slots=True)
class AudioFrame:
    """Some PCM16 of the client's microphone."""

    pcm: bytes
    rate: int
    channels: int


def read_frame(data: bytes) -> AudioFrame | bytes | None:
    """Return the audio of a frame, or its message as JSON text; None for a frame that clients do not send.

    Raises `BadRequest`.
    """
    found: AudioFrame | bytes | None = None
    try:
        for number, value, _ in fields(data):
            if number in (AUDIO, MESSAGE) and isinstance(value, memoryview):
                given = {inner: content for inner, content, _ in fields(value)}
                found = _audio(given) if number == AUDIO else _bytes(given.get(1, b""))
    except (ValueError, TypeError) as error:
        raise BadRequest(
            "This is no frame of Pipecat's WebSocket transport.", hint="Use its ProtobufFrameSerializer."
        ) from error
    return found


def _audio(given: Mapping[int, Value]) -> AudioFrame:
    rate, channels = given.get(4, 0), given.get(5, 0)
    if not isinstance(rate, int) or not isinstance(channels, int):
        raise TypeError("bytes where numbers are expected")
    return AudioFrame(_bytes(given.get(3, b"")), rate, channels)


def _bytes(value: Value | bytes) -> bytes:
    if isinstance(value, int):
        raise TypeError("a number where bytes are expected")
    return bytes(value)


def write_audio(pcm: bytes, rate: int) -> bytes:
    """Return a frame with mono PCM16 of `rate` samples per second."""
    return field(AUDIO, field(2, b"audio") + field(3, pcm) + field(4, rate) + field(5, 1))


def write_message(text: bytes) -> bytes:
    """Return a frame with a message."""
    return field(MESSAGE, field(1, text))
