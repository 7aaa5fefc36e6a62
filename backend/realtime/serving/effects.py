"""What the core wants done, in order. The shell does it and decides nothing.

Send        a server event
SendText    a message that is none
Open        an utterance begins; `partly_heard` brings words of it before its item exists
Feed        more of its sound
Discard     it is to be forgotten: the client cleared the buffer
Listen      it was committed, as a user item: transcribe it; `heard` brings the outcome
Silenced    the client has cut the reply that sounded
MakeReply   make a reply; `said` brings its parts, `End` last
Stop        stop making a reply; then call `stopped`
CloseConnection  close it (code 1001 and the like)
Abort       break it without a word
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backend.realtime.items import Item
from backend.realtime.response import Event
from backend.realtime.serving.reply_stream import Order


@dataclass(frozen=True, slots=True)
class Send:
    """A server event, `event_id` included."""

    event: Event


@dataclass(frozen=True, slots=True)
class SendText:
    """A message sent as it is, a server event or not."""

    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """An utterance begins; `item_id` is the item that it will become."""

    item_id: str


@dataclass(frozen=True, slots=True)
class Feed:
    """More of the utterance: 24 kHz mono PCM16."""

    pcm: bytes


@dataclass(frozen=True, slots=True)
class Discard:
    """Forget the utterance."""


@dataclass(frozen=True, slots=True)
class Silenced:
    """The client has cut the reply that sounded."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Transcribe user item `item`, whose audio is `pcm` (24 kHz mono PCM16)."""

    item: Item
    pcm: bytes


@dataclass(frozen=True, slots=True)
class MakeReply:
    """Make the reply that `order` describes."""

    order: Order


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop making reply `response_id`."""

    response_id: str


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Close with this WebSocket code."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Abort:
    """Break the connection."""


Effect = Send | SendText | Open | Feed | Discard | Silenced | Listen | MakeReply | Stop | CloseConnection | Abort
Effects = Iterator[Effect]
