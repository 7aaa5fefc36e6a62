"""The messages of media streams, pure: what they mean, whatever a provider's JSON looks like.

A stream begins with `connected` and `start`, and ends with `stop`. `media` carries 20 ms of G.711 in base64, both ways.
What we send is played from a buffer: a `mark` comes back when everything before it was played, `clear` drops the rest.
`dtmf` is a key that the caller has pressed. Events that are unknown here are ignored, as they may be new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from backend.errors import BadRequest
from backend.media.g711 import RATE, Law
from backend.transports.phone_line import KEYS

MAX_CHARS = 64_000
"""Characters of a message that are looked at: 20 ms of audio have 300."""
STREAM_ID = re.compile(r"[\w:.=+/-]{1,200}")
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The stream of call `call` has begun, with what its webhook's answer passed on."""

    stream: str
    call: str
    parameters: dict[str, str]
    law: Law


@dataclass(frozen=True, slots=True)
class StreamAudio:
    """Some of the caller's voice, as G.711."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """The caller pressed a key of the telephone."""

    key: str


@dataclass(frozen=True, slots=True)
class MarkPlayed:
    """Everything that was sent before this mark was played, or dropped by `clear`."""

    name: str


@dataclass(frozen=True, slots=True)
class StreamStopped:
    """The caller has hung up, or the call went elsewhere."""


StreamMessage = StreamStarted | StreamAudio | KeyPressed | MarkPlayed | StreamStopped


def decoded(decoder: msgspec.json.Decoder[M], text: str) -> M:
    """Return the message in `text`. Raises `BadRequest` without repeating it."""
    if len(text) > MAX_CHARS:
        raise BadRequest("A message of the media stream is too long.")
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        raise BadRequest("A message of the media stream is not what its provider documents.") from None


def checked_id(text: str) -> str:
    """Return an id that can stand in JSON and in an address. Raises `BadRequest`."""
    if not STREAM_ID.fullmatch(text):
        raise BadRequest("An id of the media stream is missing or not valid.")
    return text


def law_of(encoding: str, rate: int) -> Law:
    """Return the law of a stream's format. Raises `BadRequest` for anything but G.711."""
    if rate != RATE:
        raise BadRequest(f"The media stream has {rate} samples a second; only {RATE} are taken.")
    return Law.named(encoding)


def key_pressed(key: str) -> KeyPressed | None:
    """Return the key, if it is one."""
    return KeyPressed(key.upper()) if key.upper() in KEYS else None
