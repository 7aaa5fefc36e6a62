"""One response: the API's family of events from `response.created` to `response.done`, in their order.

    created → for each item: output_item.added → (message) content_part.added → deltas → …done → content_part.done
            → conversation.item.done → output_item.done → done → rate_limits.updated

A message stays open until a call, the end or a cancellation closes it. A cancelled response may still be fed (late
deltas); its end is then 'cancelled', whatever the handler says.
"""

from __future__ import annotations

import base64
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from backend.realtime.conversation import Conversation
from backend.realtime.ids import Ids
from backend.realtime.items import Item

Event = dict[str, Any]
ARGUMENTS_CHUNK = 16
"""Characters of a function call's arguments in one delta."""
DIRECTION = "direction_"
"""What the id of a message begins with that directs the reply asked for right after it."""
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


def directed(items: tuple[Item, ...], instructions: str) -> tuple[tuple[Item, ...], str]:
    """Return the conversation and the instructions of a reply; a direction at the end is part of these."""
    if items and items[-1].role == "system" and items[-1].id.startswith(DIRECTION):
        return items[:-1], f"{instructions}\n\n{items[-1].words}"
    return items, instructions


@dataclass(slots=True)
class Response:
    """The state of one response being made."""

    order: Order
    ids: Ids
    conversation: Conversation
    cancelled: str | None = None
    """Why it was cancelled: client_cancelled, turn_detected."""
    begun: bool = False
    done: bool = False
    output: list[Item] = field(default_factory=list)
    _open: Item | None = None

    @property
    def id(self) -> str:
        """The response's id."""
        return self.order.response_id

    def begin(self) -> Iterator[Event]:
        """It exists now; a second time changes nothing."""
        if not self.begun:
            self.begun = True
            yield {"type": "response.created", "response": self._shown("in_progress")}

    def words(self, delta: str, starts_ms: Sequence[int] = ()) -> Iterator[Event]:
        """More of its words; `starts_ms` as `Words` has them."""
        yield from self.begin()
        item = yield from self._ensure_open()
        item.time_words(delta, starts_ms)
        item.words += delta
        stream = "output_audio_transcript" if item.kind == "output_audio" else "output_text"
        timed = {"word_starts_ms": list(starts_ms)} if starts_ms and item.kind == "output_audio" else {}
        yield self._at(item, f"response.{stream}.delta", delta=delta, **timed)

    def audio(self, pcm: bytes) -> Iterator[Event]:
        """More of its sound; a text reply has none."""
        if self.order.modality == "text":
            return
        yield from self.begin()
        item = yield from self._ensure_open()
        item.audio_bytes += len(pcm)
        yield self._at(item, "response.output_audio.delta", delta=_encoded(pcm))

    def next_message(self) -> Iterator[Event]:
        """What follows is another message."""
        yield from self._close("completed")

    def call(self, name: str, arguments: str) -> Iterator[Event]:
        """A whole function call."""
        yield from self.begin()
        yield from self._close("completed")
        item = Item(self.ids.new("item"), "function_call", status="in_progress", name=name)
        item.call_id = self.ids.new("call")
        yield from self._add(item)
        for start in range(0, len(arguments), ARGUMENTS_CHUNK):
            delta = arguments[start : start + ARGUMENTS_CHUNK]
            yield self._in(item, "response.function_call_arguments.delta", call_id=item.call_id, delta=delta)
        item.arguments = arguments
        yield self._in(
            item, "response.function_call_arguments.done", call_id=item.call_id, name=name, arguments=arguments
        )
        yield from self._finish_item(item, "completed")

    def server_call(self, server: str, name: str, arguments: str) -> Iterator[Event]:
        """The beginning of a call on an MCP server."""
        yield from self.begin()
        yield from self._close("completed")
        approval = self.conversation.agreed_to(server, name, arguments)
        item = Item(self.ids.new("mcp"), "mcp_call", name=name, arguments="", server=server, approval=approval)
        yield from self._add(item)
        yield self._in(item, "response.mcp_call_arguments.delta", delta=arguments)
        item.arguments = arguments
        yield self._in(item, "response.mcp_call_arguments.done", arguments=arguments)
        yield self._without_response(item, "response.mcp_call.in_progress")

    def server_result(self, output: str, error: str) -> Iterator[Event]:
        """The end of that call."""
        item = self.output[-1]
        item.output, item.error = output, error
        yield self._without_response(item, f"response.mcp_call.{'failed' if error else 'completed'}")
        yield from self._finish_item(item, "completed")

    def ask_approval(self, server: str, name: str, arguments: str) -> Iterator[Event]:
        """A question whether such a call may be made."""
        yield from self.begin()
        yield from self._close("completed")
        item = Item(self.ids.new("mcpr"), "mcp_approval_request", name=name, arguments=arguments, server=server)
        yield from self._add(item)
        yield from self._finish_item(item, "completed")

    def end(self, status: str, details: dict[str, Any]) -> Iterator[Event]:
        """It is over; a cancellation wins over any other end."""
        if self.cancelled:
            status, details = "cancelled", {"reason": self.cancelled}
        yield from self.begin()
        yield from self._close("completed" if status == "completed" else "incomplete")
        self.done = True
        shown_details = {"type": status, **details} if status != "completed" else None
        yield {"type": "response.done", "response": self._shown(status, shown_details)}
        yield {"type": "rate_limits.updated", "rate_limits": RATE_LIMITS}

    def __repr__(self) -> str:
        state = "done" if self.done else f"cancelled ({self.cancelled})" if self.cancelled else "in progress"
        return f"<Response {self.id} {state}, {len(self.output)} items>"

    def _ensure_open(self) -> Generator[Event, None, Item]:
        if self._open is None:
            item = Item(self.ids.new("item"), "message", role="assistant", status="in_progress")
            yield from self._add(item)
            item.kind = "output_text" if self.order.modality == "text" else "output_audio"
            yield self._at(item, "response.content_part.added", part=_part(item, empty=True))
            self._open = item
        return self._open

    def _close(self, status: str) -> Iterator[Event]:
        """Finish the open message, if there is one."""
        item, self._open = self._open, None
        if item is None:
            return
        if item.kind == "output_audio":
            yield self._at(item, "response.output_audio.done")
            yield self._at(item, "response.output_audio_transcript.done", transcript=item.words)
        else:
            yield self._at(item, "response.output_text.done", text=item.words)
        yield self._at(item, "response.content_part.done", part=_part(item))
        yield from self._finish_item(item, status)

    def _add(self, item: Item) -> Iterator[Event]:
        self.output.append(item)
        yield self._of(item, "response.output_item.added", item=item.shown())
        if not self.order.out_of_band:
            previous = self.conversation.append(item)
            yield {"type": "conversation.item.added", "previous_item_id": previous, "item": item.shown()}

    def _finish_item(self, item: Item, status: str) -> Iterator[Event]:
        item.status = status
        if not self.order.out_of_band:
            yield {"type": "conversation.item.done", "previous_item_id": self._before(item), "item": item.shown()}
        yield self._of(item, "response.output_item.done", item=item.shown())

    def _before(self, item: Item) -> str | None:
        previous = None
        for each in self.conversation:
            if each is item:
                return previous
            previous = each.id
        return None  # the client deleted it meanwhile

    def _of(self, subject: Item, kind: str, **fields: Any) -> Event:
        return {"type": kind, "response_id": self.id, "output_index": self.output.index(subject), **fields}

    def _in(self, item: Item, kind: str, **fields: Any) -> Event:
        return self._of(item, kind, item_id=item.id, **fields)

    def _without_response(self, item: Item, kind: str) -> Event:
        return {"type": kind, "item_id": item.id, "output_index": self.output.index(item)}

    def _at(self, item: Item, kind: str, **fields: Any) -> Event:
        return self._in(item, kind, content_index=0, **fields)

    def _shown(self, status: str, details: dict[str, Any] | None = None) -> Event:
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": status,
            "status_details": details,
            "output": [item.shown() for item in self.output],
            "conversation_id": None if self.order.out_of_band else "conv",
            "output_modalities": [self.order.modality],
            "max_output_tokens": "inf",
            "audio": {"output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": self.order.voice}},
            "usage": usage(self.order.items, self.output) if self.done else None,
            "metadata": self.order.metadata,
        }


RATE_LIMITS = [
    {"name": "requests", "limit": 5000, "remaining": 4999, "reset_seconds": 0.01},
    {"name": "tokens", "limit": 400000, "remaining": 399000, "reset_seconds": 0.15},
]


def usage(heard: Sequence[Item], said: Sequence[Item]) -> Event:
    """Token counts of plausible size: a token for 4 characters, for 100 ms of input and for 50 ms of output audio."""
    text_in, audio_in = sum(map(_text_tokens, heard)), sum(item.audio_ms // 100 for item in heard)
    text_out, audio_out = sum(map(_text_tokens, said)), sum(item.audio_ms // 50 for item in said)
    cached = {"text_tokens": 0, "audio_tokens": 0, "image_tokens": 0}
    return {
        "total_tokens": text_in + audio_in + text_out + audio_out,
        "input_tokens": text_in + audio_in,
        "output_tokens": text_out + audio_out,
        "input_token_details": {
            "text_tokens": text_in,
            "audio_tokens": audio_in,
            "image_tokens": 0,
            "cached_tokens": 0,
            "cached_tokens_details": cached,
        },
        "output_token_details": {"text_tokens": text_out, "audio_tokens": audio_out},
    }


@lru_cache(CHUNKS_KEPT)
def _encoded(pcm: bytes) -> str:
    return base64.b64encode(pcm).decode()


def _text_tokens(item: Item) -> int:
    return (len(item.words) + len(item.arguments) + len(item.output) + 3) // 4


def _part(item: Item, *, empty: bool = False) -> Event:
    words = "" if empty else item.words
    if item.kind == "output_audio":
        return {"type": "audio", "transcript": words}
    return {"type": "text", "text": words}
