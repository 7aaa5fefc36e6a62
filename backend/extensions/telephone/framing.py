"""Reads the messages of the three providers' media streams.

A stream begins with `connected` and `start`, and ends with `stop`. `media` carries 20 ms of G.711 in base64, both ways.
The provider plays our audio from a buffer: a `mark` comes back when everything before it was played, and `clear` drops
the rest. `dtmf` is a key that the caller has pressed. Unknown events are ignored, as they may be new. The providers
name the facts in `start` differently; all names are read. Each provider has a class that writes its messages.
"""

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from backend.errors import BadRequest
from backend.media.g711 import RATE, Law
from backend.runtime.json_objects import Json

T = TypeVar("T")
MAX_CHARS = 64_000
"""The most characters of a message: 20 ms of audio have 300."""
STREAM_ID = re.compile(r"[\w:.=+/-]{1,200}")
TOKEN_PARAMETER = "token"
"""The name under which a stream returns the token from the answer to its webhook."""
STREAM = ("streamSid", "streamId")
CALL = ("callSid", "call_control_id", "callId")
PARAMETERS = ("customParameters", "custom_parameters")
FORMAT = ("mediaFormat", "media_format")
SAMPLE_RATE = ("sampleRate", "sample_rate")
UNDOCUMENTED = "A message of the media stream does not fit the provider's documentation."


class Media(msgspec.Struct, frozen=True):
    """The sound in a message."""

    payload: bytes = b""
    track: str = "inbound"
    chunk: str | int = ""


class _Mark(msgspec.Struct, frozen=True):
    name: str = ""


class _Key(msgspec.Struct, frozen=True):
    digit: str = ""


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of any provider; missing fields are empty."""

    event: str
    start: Json = msgspec.field(default_factory=dict)
    media: Media = msgspec.field(default_factory=Media)
    mark: _Mark = msgspec.field(default_factory=_Mark)
    dtmf: _Key = msgspec.field(default_factory=_Key)
    stream_sid: str = msgspec.field(default="", name="streamSid")
    stream_id: str = ""
    name: str = ""
    """The name of a played mark; Plivo sends it here."""
    extra_headers: Any = ""


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The stream of `call` has begun; it has the parameters that the webhook's answer passed on."""

    call: str
    parameters: dict[str, str]
    law: Law


_decoder = msgspec.json.Decoder(StreamMessage)


@dataclass(slots=True)
class ProviderFraming(ABC):
    """Reads and writes the messages of one provider, for one stream."""

    stream: str = ""
    """The stream's id, known once it has started; the messages that are sent name it."""

    def read(self, text: str) -> StreamMessage:
        """Read a message. Raises `BadRequest`, without the message in it."""
        if len(text) > MAX_CHARS:
            raise BadRequest("A message of the media stream is too long.")
        try:
            return _decoder.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            raise BadRequest(UNDOCUMENTED) from None

    def started(self, message: StreamMessage) -> StreamStarted:
        """Read the beginning of a stream. Raises `BadRequest` if it does not fit the documentation, or is not G.711."""
        start = message.start
        self.stream = checked_id(message.stream_sid or message.stream_id or str(_first(start, STREAM, "")))
        form: Json = _first(start, FORMAT, {})
        if (rate := _first(form, SAMPLE_RATE, RATE)) != RATE:
            raise BadRequest(f"The media stream has {rate} samples a second; only {RATE} are taken.")
        call = checked_id(str(_first(start, CALL, "")))
        return StreamStarted(call, self._parameters(message), Law.named(str(form.get("encoding", "PCMU"))))

    def sound(self, media: Media) -> bytes:
        """Return the caller's G.711; empty if the sound is not the caller's."""
        return media.payload if media.track in ("inbound", "inbound_track") else b""

    def audio(self, payload: bytes) -> str:
        """Write a message with G.711 to be played."""
        return self._audio(b64encode(payload).decode())

    @abstractmethod
    def mark(self, name: str) -> str:
        """Write a mark."""

    @abstractmethod
    def clear(self) -> str:
        """Write the order to drop audio that was not played yet."""

    @abstractmethod
    def _audio(self, sound: str) -> str:
        """Write a message with G.711 in base64. For speed it is joined as text: there are 50 per second."""

    def _parameters(self, message: StreamMessage) -> dict[str, str]:
        """Return the token that the webhook's answer passed on."""
        given: Json = _first(message.start, PARAMETERS, {})
        return {name: str(value) for name, value in given.items()}


def checked_id(text: str) -> str:
    """Return an id that is safe in JSON and in an address. Raises `BadRequest`."""
    if not STREAM_ID.fullmatch(text):
        raise BadRequest("An id of the media stream is missing or not valid.")
    return text


def _first(values: Json, names: tuple[str, ...], default: T) -> T:
    """Return the value of the first name that is present. Raises `BadRequest` for a value of another type."""
    found = next((values[name] for name in names if name in values), default)
    if not isinstance(found, type(default)):
        raise BadRequest(UNDOCUMENTED)
    return found
