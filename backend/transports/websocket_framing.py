"""The WebSocket framing, pure: 24 kHz mono PCM16 both ways.

Client → server: a binary message is PCM16, little-endian, up to one second; or JSON
`{"type": "audio", "pcm": "<base64>"}`, `{"type": "ping"}` (keeps a silent call alive), `{"type": "bye"}`.
The first may be `{"type": "token", "token": …}`: the session's token, from a client without a cookie.
Server → client: `{"type": "ready"}` once; `{"type": "audio", "item": …, "pcm": "<base64 of one frame>"}` on the
server's clock, only while something plays; `{"type": "flush"}`: drop what is buffered; `{"type": "bye", "reason": …}`.
"""

from dataclasses import dataclass

import msgspec

from backend.media.frame import SAMPLE_RATE, Frame

MAX_PCM_BYTES = SAMPLE_RATE * 2
"""The most bytes of PCM16 in one message: one second."""
MAX_TEXT_CHARS = MAX_PCM_BYTES * 4 // 3 + 200
UNSUPPORTED = 1003
TOO_BIG = 1009
READY = '{"type":"ready"}'
FLUSH = '{"type":"flush"}'


class Audio(msgspec.Struct, frozen=True, tag="audio"):
    """A piece of the caller's microphone audio, as PCM16; it is base64 in JSON."""

    pcm: bytes = b""


class Ping(msgspec.Struct, frozen=True, tag="ping"):
    """A sign that a silent caller is still there."""


class SentToken(msgspec.Struct, frozen=True, tag="token"):
    """The session's token, as the first message of a client without a cookie. A later one changes nothing."""

    token: str


class Bye(msgspec.Struct, frozen=True, tag="bye"):
    """The caller hangs up."""


class _ReplyAudio(msgspec.Struct, frozen=True, tag="audio"):
    item: str
    pcm: bytes


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """A message that is not allowed: the connection is closed with `code` and `reason`."""

    code: int
    reason: str


_decoder = msgspec.json.Decoder(Audio | Ping | SentToken | Bye)


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
    except (msgspec.MsgspecError, RecursionError) as error:
        if "base64" in str(error):
            return MessageRefused(UNSUPPORTED, "pcm must be base64")
        return MessageRefused(UNSUPPORTED, "send JSON with a type of audio, ping or bye, or binary PCM16")
    return read_binary(message.pcm) if isinstance(message, Audio) else message


def write_audio(item: str, frame: Frame) -> str:
    """Write one frame of a reply."""
    return msgspec.json.encode(_ReplyAudio(item, frame)).decode()


def write_bye(reason: str) -> str:
    """Write the last message."""
    return msgspec.json.encode({"type": "bye", "reason": reason}).decode()
