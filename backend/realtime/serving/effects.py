"""The orders of the core, in sequence. The shell carries them out and decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from backend.realtime.items import Item
from backend.realtime.response import Event


class Effect(Struct, frozen=True):
    """One order."""


class Send(Effect, frozen=True):
    """A server event, `event_id` included."""

    event: Event


class SendText(Effect, frozen=True):
    """A message sent as it is, a server event or not: it may be one that the API does not have."""

    text: str


class Open(Effect, frozen=True):
    """An utterance begins that will become item `item_id`; `partly_heard` takes words of it until then."""

    item_id: str


class Feed(Effect, frozen=True):
    """More of the utterance: 24 kHz mono PCM16."""

    pcm: bytes


class Discard(Effect, frozen=True):
    """Forget the utterance: the client cleared the buffer."""


class Silenced(Effect, frozen=True):
    """The client has cut the reply that sounded."""


class Listen(Effect, frozen=True):
    """The utterance is committed as a user item: transcribe it; `heard` takes the outcome."""

    item: Item


class Order(Effect, frozen=True):
    """Make a reply: what the client asked for, and what a handler needs; `said` takes the parts, `End` last."""

    response_id: str
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


class Stop(Effect, frozen=True):
    """Stop making this reply, then call `stopped`."""

    response_id: str


class CloseConnection(Effect, frozen=True):
    """Close with this WebSocket code."""

    code: int
    reason: str


class Abort(Effect, frozen=True):
    """Break the connection without a close frame, as a dying network would."""


Effects = Iterator[Effect]
