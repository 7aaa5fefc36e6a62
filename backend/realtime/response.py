"""One response as its client is shown it, from `response.created` to `response.done`, with the events in their order.

    created → for each item: output_item.added → conversation.item.added → (message) content_part.added → deltas
            → …done → content_part.done → conversation.item.done → output_item.done → done

A response outside of the conversation has no conversation's events.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from backend.realtime.items import Item

Event = dict[str, Any]


@dataclass(slots=True)
class Response:
    """The public side of one response, and the events about its items."""

    id: str
    modality: str
    """`audio` or `text`."""
    audio: Event
    """The format and the voice."""
    conversation: str | None
    """The conversation's id; None for a response outside of it."""
    metadata: dict[str, str] | None = None
    output: list[Item] = field(default_factory=list)

    def created(self) -> Event:
        """Return the event that shows a new response."""
        return {"type": "response.created", "response": self._shown("in_progress")}

    def add(self, item: Item, previous: str | None) -> Iterator[Event]:
        """Yield the events of an item that begins, behind item `previous` of the conversation."""
        self.output.append(item)
        yield self._of(self.place(item), "response.output_item.added", item=item.shown())
        if self.conversation is not None:
            yield {"type": "conversation.item.added", "previous_item_id": previous, "item": item.shown()}

    def open(self, item: Item, previous: str | None) -> Iterator[Event]:
        """Yield the events of a message that begins; `item` has no content yet."""
        yield from self.add(item, previous)
        item.kind = "output_text" if self.modality == "text" else "output_audio"
        yield self.of_part(item, "response.content_part.added", part=_part(item, ""))

    def words(self, item: Item, delta: str) -> Event:
        """Return the event of more words of a message."""
        item.words += delta
        stream = "output_audio_transcript" if item.kind == "output_audio" else "output_text"
        return self.of_part(item, f"response.{stream}.delta", delta=delta)

    def sound(self, item_id: str, index: int, delta: str | bytes) -> Event:
        """Return the event of more sound of a message: base64, or bytes that are encoded with the event."""
        return {
            "type": "response.output_audio.delta",
            "response_id": self.id,
            "item_id": item_id,
            "output_index": index,
            "content_index": 0,
            "delta": delta,
        }

    def call(self, item: Item, previous: str | None, arguments: str, chunk: int) -> Iterator[Event]:
        """Yield the events of a whole function call; its arguments come in pieces of `chunk` characters."""
        yield from self.add(item, previous)
        for start in range(0, len(arguments), chunk):
            delta = arguments[start : start + chunk]
            yield self.of_item(item, "response.function_call_arguments.delta", call_id=item.call_id, delta=delta)
        item.arguments = arguments
        whole = {"call_id": item.call_id, "name": item.name, "arguments": arguments}
        yield self.of_item(item, "response.function_call_arguments.done", **whole)
        yield from self.finish(item, previous, "completed")

    def close(self, item: Item, previous: str | None, status: str) -> Iterator[Event]:
        """Yield the events of a message that ends, whole (`completed`) or cut (`incomplete`)."""
        if item.kind == "output_audio":
            yield self.of_part(item, "response.output_audio.done")
            yield self.of_part(item, "response.output_audio_transcript.done", transcript=item.words)
        else:
            yield self.of_part(item, "response.output_text.done", text=item.words)
        yield self.of_part(item, "response.content_part.done", part=_part(item, item.words))
        yield from self.finish(item, previous, status)

    def finish(self, item: Item, previous: str | None, status: str) -> Iterator[Event]:
        """Yield the events of an item that ends."""
        item.status = status
        if self.conversation is not None:
            yield {"type": "conversation.item.done", "previous_item_id": previous, "item": item.shown()}
        yield self._of(self.place(item), "response.output_item.done", item=item.shown())

    def done(self, status: str, details: Event | None, usage: Event | None) -> Event:
        """Return the event that shows the response at its end."""
        return {"type": "response.done", "response": self._shown(status, details, usage)}

    def place(self, item: Item) -> int:
        """Return the item's index."""
        return next(number for number, each in enumerate(self.output) if each is item)

    def of_item(self, item: Item, kind: str, **fields: Any) -> Event:
        """Return an event about an item."""
        return self._of(self.place(item), kind, item_id=item.id, **fields)

    def of_part(self, item: Item, kind: str, **fields: Any) -> Event:
        """Return an event about an item's content, which is one part."""
        return self.of_item(item, kind, content_index=0, **fields)

    def _of(self, place: int, kind: str, **fields: Any) -> Event:
        return {"type": kind, "response_id": self.id, "output_index": place, **fields}

    def _shown(self, status: str, details: Event | None = None, usage: Event | None = None) -> Event:
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": status,
            "status_details": details,
            "output": [item.shown() for item in self.output],
            "conversation_id": self.conversation,
            "output_modalities": [self.modality],
            "max_output_tokens": "inf",
            "audio": {"output": self.audio},
            "usage": usage,
            "metadata": self.metadata,
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of tokens of each modality."""

    text: int = 0
    audio: int = 0
    image: int = 0

    @property
    def total(self) -> int:
        """Return the sum of them."""
        return self.text + self.audio + self.image


def usage_of(heard: Counts, cached: Counts, said: Counts, totals: tuple[int, int] | None = None) -> Event:
    """Return the tokens of a response: input, cached input, and output. `totals` are the sums of input and output, if
    the provider names them.
    """
    input_tokens, output_tokens = totals or (heard.total, said.total)
    return {
        "total_tokens": input_tokens + output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "input_token_details": {
            **_details(heard),
            "cached_tokens": cached.total,
            "cached_tokens_details": _details(cached),
        },
        "output_token_details": {"text_tokens": said.text, "audio_tokens": said.audio},
    }


def _details(tokens: Counts) -> Event:
    return {"text_tokens": tokens.text, "audio_tokens": tokens.audio, "image_tokens": tokens.image}


def _part(item: Item, words: str) -> Event:
    if item.kind == "output_audio":
        return {"type": "audio", "transcript": words}
    return {"type": "text", "text": words}
