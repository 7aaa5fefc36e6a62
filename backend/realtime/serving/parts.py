"""The output of a handler: parts of a reply, of a transcript, and failures.

A handler yields parts; the core turns them into server events in the API's order. Delays are the handler's own awaits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from backend.realtime.serving.effects import Abort, SendText


@dataclass(frozen=True, slots=True)
class Begin:
    """The reply exists now: `response.created`."""


@dataclass(frozen=True, slots=True)
class Words:
    """Some of the reply's words, before their sound."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplySound:
    """Some of the reply's sound: 24 kHz mono PCM16."""

    pcm: bytes


@dataclass(frozen=True, slots=True)
class NextMessage:
    """The words and the sound that follow are another message of the same reply."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; `arguments` is sent as it is, valid JSON or not."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ServerCall:
    """The beginning of a call of a tool on an MCP server, which the provider makes itself."""

    server: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The end of that call: what it returned, or why it failed."""

    output: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class AskApproval:
    """A question whether such a call may be made."""

    server: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class End:
    """The reply is over. `details` joins the API's `status_details`."""

    status: Literal["completed", "failed", "incomplete"] = "completed"
    details: dict[str, Any] = field(default_factory=dict)
    rate_limits: list[dict[str, Any]] | None = None
    """The rate limits reported before the end; None: only after the end, that there is room."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Instead of `Begin`: the reply is refused with an `error` event and never existed."""

    code: str
    message: str
    kind: str


@dataclass(frozen=True, slots=True)
class TranscriptGrew:
    """Some of what the caller said."""

    delta: str


@dataclass(frozen=True, slots=True)
class TranscriptDone:
    """All of what the caller said."""

    text: str
    log_probability: float = 0.0
    """The log-probability of its least certain part; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class TranscriptFailed:
    """The caller could not be understood."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Complain:
    """An `error` event that closes the connection."""

    code: str
    message: str
    kind: str


@dataclass(frozen=True, slots=True)
class Expire:
    """The session's time is up: `session_expired`, close 1001."""


Trouble = Complain | Expire | Abort | SendText
ContentPart = Begin | Words | ReplySound | NextMessage | Call | ServerCall | ServerResult | AskApproval | End
ReplyPart = ContentPart | Refuse | Trouble
HearingPart = TranscriptGrew | TranscriptDone | TranscriptFailed
