"""The output of a handler: parts of a reply, of a transcript, and failures.

A handler yields parts; the core turns them into server events in the API's order. Delays are the handler's own awaits.
"""

from typing import Any, Literal

from msgspec import Struct

from backend.realtime.serving.effects import Abort, SendText


class Begin(Struct, frozen=True):
    """The reply has begun: `response.created`."""


class Words(Struct, frozen=True):
    """Some of the reply's words, before their sound."""

    text: str


class ReplySound(Struct, frozen=True):
    """Some of the reply's sound: 24 kHz mono PCM16."""

    pcm: bytes


class NextMessage(Struct, frozen=True):
    """The words and the sound that follow are another message of the same reply."""


class Call(Struct, frozen=True):
    """A function call; `arguments` is sent as it is, valid JSON or not."""

    name: str
    arguments: str


class End(Struct, frozen=True):
    """The reply is over. `details` joins the API's `status_details`."""

    status: Literal["completed", "failed", "incomplete"] = "completed"
    details: dict[str, Any] = {}


class TranscriptGrew(Struct, frozen=True):
    """More words of what the caller said."""

    delta: str


class TranscriptDone(Struct, frozen=True):
    """All words of what the caller said."""

    text: str
    log_probability: float = 0.0
    """The log-probability of its least certain part; 0 if unknown."""


class TranscriptFailed(Struct, frozen=True):
    """The caller could not be understood."""

    code: str
    message: str


class Expire(Struct, frozen=True):
    """The session's time is up: `session_expired`, close 1001."""


ContentPart = Begin | Words | ReplySound | NextMessage | Call | End
ReplyPart = ContentPart | Expire | Abort | SendText
HearingPart = TranscriptGrew | TranscriptDone | TranscriptFailed
