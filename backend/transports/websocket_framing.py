"""The WebSocket framing, pure: 24 kHz mono PCM16 both ways.

Client → server: a binary message is PCM16, little-endian, up to one second; or JSON
`{"type": "audio", "pcm": "<base64>"}`, `{"type": "ping"}` (keeps a silent call alive), `{"type": "bye"}`.
Server → client: `{"type": "ready"}` once; `{"type": "audio", "item": …, "pcm": "<base64 of one frame>"}` on the
server's clock, only while something plays; `{"type": "flush"}`: drop what is buffered; `{"type": "bye", "reason": …}`.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Literal

import msgspec

from backend.media.frame import SAMPLE_RATE, Frame

MAX_PCM_BYTES = SAMPLE_RATE * 2
"""One second."""
MAX_TEXT_CHARS = MAX_PCM_BYTES * 4 // 3 + 200
UNSUPPORTED = 1003
TOO_BIG = 1009


@dataclass(frozen=True, slots=True)
class Audio:
    """A piece of the caller's microphone, as PCM16."""

    pcm: bytes


@dataclass(frozen=True, slots=True)
class Ping:
    """A sign that the caller is there, silent."""


@dataclass(frozen=True, slots=True)
class Bye:
    """The caller hangs up."""


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """A message that is not allowed: close with `code` and say why."""

    code: int
    reason: str


class _Text(msgspec.Struct):
    type: Literal["audio", "ping", "bye"]
    pcm: str = ""


_decoder = msgspec.json.Decoder(_Text)


def read_binary(data: bytes) -> Audio | MessageRefused:
    """Read a binary message."""
    if len(data) > MAX_PCM_BYTES:
        return MessageRefused(TOO_BIG, "send at most one second of audio in a message")
    return Audio(data)


def read_text(text: str) -> Audio | Ping | Bye | MessageRefused:
    """Read a JSON message."""
    if len(text) > MAX_TEXT_CHARS:
        return MessageRefused(TOO_BIG, "send at most one second of audio in a message")
    try:
        message = _decoder.decode(text)
        match message.type:
            case "ping":
                return Ping()
            case "bye":
                return Bye()
            case "audio":
                return read_binary(base64.b64decode(message.pcm, validate=True))
    except msgspec.MsgspecError:
        return MessageRefused(UNSUPPORTED, "send JSON with a type of audio, ping or bye, or binary PCM16")
    except (binascii.Error, ValueError):
        return MessageRefused(UNSUPPORTED, "pcm must be base64")


def write_audio(item: str, frame: Frame) -> str:
    """Write one frame of a reply."""
    return msgspec.json.encode({"type": "audio", "item": item, "pcm": base64.b64encode(frame).decode()}).decode()


READY = '{"type":"ready"}'
FLUSH = '{"type":"flush"}'


def write_bye(reason: str) -> str:
    """Write the last message."""
    return msgspec.json.encode({"type": "bye", "reason": reason}).decode()
