"""One reply while it is made: a handler's parts in, the response's events out.

A message stays open until a call, the end or a cancellation closes it. A cancelled reply may still be fed (late
deltas); its end is then 'cancelled', whatever the handler says.
"""

from __future__ import annotations

import base64
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from backend.realtime.conversation import Conversation
from backend.realtime.ids import Ids
from backend.realtime.items import Item
from backend.realtime.response import Event, Response, Tokens, usage_of
from backend.realtime.session import PCM

ARGUMENTS_CHUNK = 16
"""Characters of a function call's arguments in one delta."""
CHUNKS_KEPT = 512
"""Encoded pieces of sound, the latest: a script says the same ones again and again."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the client asked for, and what a handler needs to answer it."""

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
    """How fast it is spoken; 1 is the voice's own."""

    @property
    def purpose(self) -> str | None:
        """Why the client wants it, if its metadata say so: answer, result, greeting, filler, nudge, goodbye."""
        return (self.metadata or {}).get("purpose")


class ReplyStream:
    """The state of one reply being made."""

    def __init__(self, order: Order, ids: Ids, conversation: Conversation) -> None:
        self.order = order
        self.cancelled = ""
        """Why it was cancelled: client_cancelled, turn_detected; empty: it was not."""
        audio = {"format": dict(PCM), "voice": order.voice}
        named = None if order.out_of_band else "conv"
        self._shown = Response(order.response_id, order.modality, audio, named, order.metadata)
        self._ids = ids
        self._conversation = conversation
        self._begun = self._done = False
        self._open: Item | None = None

    def __repr__(self) -> str:
        state = "done" if self._done else f"cancelled: {self.cancelled}" if self.cancelled else "in progress"
        return f"ReplyStream({self.id}, {state}, {len(self._shown.output)} items)"

    @property
    def id(self) -> str:
        """The response's id."""
        return self.order.response_id

    def begin(self) -> Iterator[Event]:
        """Note that the item exists; a second time changes nothing."""
        if not self._begun:
            self._begun = True
            yield self._shown.created()

    def words(self, delta: str, starts_ms: Sequence[int] = ()) -> Iterator[Event]:
        """More of its words; `starts_ms` as `Words` has them."""
        yield from self.begin()
        item = yield from self._ensure_open()
        item.time_words(delta, starts_ms)
        timed = {"word_starts_ms": list(starts_ms)} if starts_ms and item.kind == "output_audio" else {}
        yield self._shown.words(item, delta, **timed)

    def sound(self, pcm: bytes) -> Iterator[Event]:
        """More of its sound; a text reply has none."""
        if self.order.modality == "text":
            return
        yield from self.begin()
        item = yield from self._ensure_open()
        item.audio_bytes += len(pcm)
        yield self._shown.sound(item.id, self._shown.place(item), _encoded(pcm))

    def next_message(self) -> Iterator[Event]:
        """What follows is another message."""
        yield from self._close("completed")

    def call(self, name: str, arguments: str) -> Iterator[Event]:
        """A whole function call."""
        yield from self._another()
        item = Item(self._ids.new("item"), "function_call", status="in_progress", name=name)
        item.call_id = self._ids.new("call")
        yield from self._shown.call(item, self._append(item), arguments, ARGUMENTS_CHUNK)

    def server_call(self, server: str, name: str, arguments: str) -> Iterator[Event]:
        """The beginning of a call on an MCP server."""
        yield from self._another()
        approval = self._conversation.agreed_to(server, name, arguments)
        item = Item(self._ids.new("mcp"), "mcp_call", name=name, server=server, approval=approval)
        yield from self._shown.add(item, self._append(item))
        yield self._shown.of_item(item, "response.mcp_call_arguments.delta", delta=arguments)
        item.arguments = arguments
        yield self._shown.of_item(item, "response.mcp_call_arguments.done", arguments=arguments)
        yield self._of_server_call(item, "in_progress")

    def server_result(self, output: str, error: str) -> Iterator[Event]:
        """The end of that call."""
        item = self._shown.output[-1]
        item.output, item.error = output, error
        yield self._of_server_call(item, "failed" if error else "completed")
        yield from self._shown.finish(item, self._conversation.before(item), "completed")

    def ask_approval(self, server: str, name: str, arguments: str) -> Iterator[Event]:
        """A question whether such a call may be made."""
        yield from self._another()
        item = Item(self._ids.new("mcpr"), "mcp_approval_request", name=name, arguments=arguments, server=server)
        previous = self._append(item)
        yield from self._shown.add(item, previous)
        yield from self._shown.finish(item, previous, "completed")

    def end(self, status: str, details: dict[str, Any]) -> Iterator[Event]:
        """It is over; a cancellation wins over any other end."""
        if self.cancelled:
            status, details = "cancelled", {"reason": self.cancelled}
        yield from self.begin()
        yield from self._close("completed" if status == "completed" else "incomplete")
        self._done = True
        shown_details = {"type": status, **details} if status != "completed" else None
        yield self._shown.done(status, shown_details, usage(self.order.items, self._shown.output))
        yield {"type": "rate_limits.updated", "rate_limits": RATE_LIMITS}

    def _another(self) -> Iterator[Event]:
        """Close what is open: another item begins."""
        yield from self.begin()
        yield from self._close("completed")

    def _ensure_open(self) -> Generator[Event, None, Item]:
        if self._open is None:
            item = Item(self._ids.new("item"), "message", role="assistant", status="in_progress")
            yield from self._shown.open(item, self._append(item))
            self._open = item
        return self._open

    def _close(self, status: str) -> Iterator[Event]:
        """Finish the open message, if there is one."""
        item, self._open = self._open, None
        if item is not None:
            yield from self._shown.close(item, self._conversation.before(item), status)

    def _append(self, item: Item) -> str | None:
        return None if self.order.out_of_band else self._conversation.append(item)

    def _of_server_call(self, item: Item, what: str) -> Event:
        return {"type": f"response.mcp_call.{what}", "item_id": item.id, "output_index": self._shown.place(item)}


RATE_LIMITS = [
    {"name": "requests", "limit": 5000, "remaining": 4999, "reset_seconds": 0.01},
    {"name": "tokens", "limit": 400000, "remaining": 399000, "reset_seconds": 0.15},
]


def usage(heard: Sequence[Item], said: Sequence[Item]) -> Event:
    """Token counts of plausible size: a token for 4 characters, for 100 ms of input and for 50 ms of output audio."""
    return usage_of(_tokens(heard, 100), Tokens(), _tokens(said, 50))


def _tokens(items: Sequence[Item], audio_ms: int) -> Tokens:
    characters = (len(item.words) + len(item.arguments) + len(item.output) for item in items)
    return Tokens(sum((each + 3) // 4 for each in characters), sum(item.audio_ms // audio_ms for item in items))


@lru_cache(CHUNKS_KEPT)
def _encoded(pcm: bytes) -> str:
    return base64.b64encode(pcm).decode()
