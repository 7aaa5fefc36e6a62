"""The orders of the core, in sequence. The shell carries them out and decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from backend.realtime.items import Item
from backend.realtime.response import Event


@dataclass(frozen=True, slots=True)
class Send:
    """A server event, `event_id` included."""

    event: Event


@dataclass(frozen=True, slots=True)
class SendText:
    """A message sent as it is, a server event or not: it may be one that the API does not have."""

    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """An utterance begins that will become item `item_id`; `partly_heard` takes words of it until then."""

    item_id: str


@dataclass(frozen=True, slots=True)
class Feed:
    """More of the utterance: 24 kHz mono PCM16."""

    pcm: bytes


@dataclass(frozen=True, slots=True)
class Discard:
    """Forget the utterance: the client cleared the buffer."""


@dataclass(frozen=True, slots=True)
class Silenced:
    """The client has cut the reply that sounded."""


@dataclass(frozen=True, slots=True)
class Listen:
    """The utterance is committed as a user item: transcribe it; `heard` takes the outcome."""

    item: Item


@dataclass(frozen=True, slots=True)
class Order:
    """Make a reply: what the client asked for, and what a handler needs; `said` takes the parts, `End` last."""

    response_id: str
    event_id: str | None
    items: tuple[Item, ...]
    """The conversation, or the client's own `input`, at the moment of asking."""
    instructions: str
    tools: tuple[dict[str, Any], ...]
    tool_choice: Any
    modality: str
    voice: Any
    metadata: dict[str, str] | None = None
    out_of_band: bool = False
    speed: float = 1.0
    """The speed of the reply; 1 is the voice's own."""

    @property
    def purpose(self) -> str | None:
        """Return the purpose in the reply's metadata, if any: answer, result, greeting, filler, nudge, goodbye."""
        return (self.metadata or {}).get("purpose")


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop making this reply, then call `stopped`."""

    response_id: str


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Close with this WebSocket code."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Abort:
    """Break the connection without a close frame, as a dying network would."""


Effect = Send | SendText | Open | Feed | Discard | Silenced | Listen | Order | Stop | CloseConnection | Abort
Effects = Iterator[Effect]
