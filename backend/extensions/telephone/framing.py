"""The messages of media streams of the three providers: one reader, and the names that differ. They agree on `event`,
on `media`, `dtmf` and `stop`, and nearly on `mark`. `start` has the same facts under several names, which are all read.
Each provider's own class writes its messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from backend.errors import BadRequest
from backend.extensions.telephone.messages import (
    MarkPlayed,
    StreamAudio,
    StreamMessage,
    StreamStarted,
    StreamStopped,
    checked_id,
    decoded,
    key_pressed,
    law_of,
)
from backend.media.g711 import RATE
from backend.runtime.json_objects import Json

T = TypeVar("T")
TOKEN_PARAMETER = "token"
"""The name under which a stream returns the token from the answer to its webhook."""
STREAM = ("streamSid", "streamId")
CALL = ("callSid", "call_control_id", "callId")
PARAMETERS = ("customParameters", "custom_parameters")
FORMAT = ("mediaFormat", "media_format")
SAMPLE_RATE = ("sampleRate", "sample_rate")


class Media(msgspec.Struct, frozen=True):
    """Some sound."""

    payload: bytes = b""
    track: str = "inbound"
    chunk: str | int = ""


class _Mark(msgspec.Struct, frozen=True):
    name: str = ""


class _Key(msgspec.Struct, frozen=True):
    digit: str = ""


class Message(msgspec.Struct, frozen=True):
    """A message of any provider; missing fields are empty."""

    event: str
    start: Json = msgspec.field(default_factory=dict)
    media: Media = msgspec.field(default_factory=Media)
    mark: _Mark = msgspec.field(default_factory=_Mark)
    dtmf: _Key = msgspec.field(default_factory=_Key)
    stream_sid: str = msgspec.field(default="", name="streamSid")
    stream_id: str = ""
    name: str = ""
    extra_headers: Any = ""


_decoder = msgspec.json.Decoder(Message)


@dataclass(slots=True)
class ProviderFraming(ABC):
    """One stream's messages, as one provider reads and writes them."""

    stream: str = ""
    """The stream's id, known once it has started; the messages that are sent name it."""

    def read(self, text: str) -> StreamMessage | None:
        """Read a message of the provider; None for one without meaning here. Raises `BadRequest`."""
        message = decoded(_decoder, text)
        match message.event:
            case "media":
                return self._sound(message.media)
            case "start":
                started = self._started(message)
                self.stream = started.stream
                return started
            case "mark":
                return MarkPlayed(message.mark.name)
            case "playedStream":
                return MarkPlayed(message.name)
            case "dtmf":
                return key_pressed(message.dtmf.digit)
            case "stop":
                return StreamStopped()
        return None

    def audio(self, payload: bytes) -> str:
        """Write some G.711 to be played."""
        return self._audio(b64encode(payload).decode())

    @abstractmethod
    def mark(self, name: str) -> str:
        """Write a mark."""

    @abstractmethod
    def clear(self) -> str:
        """Write the order to drop audio that was not played yet."""

    @abstractmethod
    def _audio(self, sound: str) -> str:
        """Write a message with G.711 in base64; 50 a second are written, so it is put together as text."""

    def _started(self, message: Message) -> StreamStarted:
        """Read the beginning of a stream. Raises `BadRequest` if it does not fit the documentation, or is not G.711."""
        start = message.start
        stream = message.stream_sid or message.stream_id or str(_first(start, STREAM, ""))
        form: Json = _first(start, FORMAT, {})
        law = law_of(str(form.get("encoding", "PCMU")), _first(form, SAMPLE_RATE, RATE))
        call = str(_first(start, CALL, ""))
        return StreamStarted(checked_id(stream), checked_id(call), self._parameters(message), law)

    def _parameters(self, message: Message) -> dict[str, str]:
        """Return the token that the webhook's answer passed on."""
        given: Json = _first(message.start, PARAMETERS, {})
        return {name: str(value) for name, value in given.items()}

    def _sound(self, media: Media) -> StreamAudio | None:
        return StreamAudio(media.payload) if media.track in ("inbound", "inbound_track") else None


def _first(values: Json, names: tuple[str, ...], default: T) -> T:
    """Return the value of the first of these names that there is. Raises `BadRequest` for one of another kind."""
    found = next((values[name] for name in names if name in values), default)
    if not isinstance(found, type(default)):
        raise BadRequest("A message of the media stream is not what its provider documents.")
    return found
