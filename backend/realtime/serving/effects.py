"""The orders of the core, in sequence. The shell carries them out and decides nothing."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from backend.realtime.items import Item
from backend.realtime.response import Event


class Effect(Struct, frozen=True):
    """The base of the core's orders to the shell."""


class Send(Effect, frozen=True):
    """Send a server event, which includes its `event_id`."""

    event: Event


class SendText(Effect, frozen=True):
    """Send a message as it is, even if it is no event of the API."""

    text: str


class Open(Effect, frozen=True):
    """Begin an utterance that will become item `item_id`; `partly_heard` takes its words until then."""

    item_id: str


class Feed(Effect, frozen=True):
    """Pass on more of the utterance: 24 kHz mono PCM16."""

    pcm: bytes


class Discard(Effect, frozen=True):
    """Forget the utterance: the client cleared the buffer."""


class Silenced(Effect, frozen=True):
    """Note that the client has cut the reply that sounded."""


class Listen(Effect, frozen=True):
    """Transcribe the utterance, which was committed as a user item; `heard` takes the outcome."""

    item: Item


class Order(Effect, frozen=True):
    """Make a reply: what the client asked for, and what a handler needs; `said` takes the parts, `End` last."""

    response_id: str
    items: tuple[Item, ...]
    """The conversation, or the client's own `input`, at the moment of the request."""
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
    """Close the connection with a WebSocket close code and its reason."""

    code: int
    reason: str


class Abort(Effect, frozen=True):
    """Break the connection without a close frame, as a dying network would."""


Effects = Iterator[Effect]
