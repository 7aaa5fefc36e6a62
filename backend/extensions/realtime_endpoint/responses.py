"""The objects of the Realtime protocol that stand for what is said: responses and items, with the events about them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from backend.runtime.json_objects import Json
from backend.turns.events import ReplyFinished, TokenUsage

Modality = Literal["audio", "text"]


def new_id(kind: str) -> str:
    """Return a random id of an object of that kind: `item_…`, `resp_…`."""
    return f"{kind}_{secrets.token_hex(10)}"


@dataclass(slots=True)
class OutputItem:
    """One message or function call of a response, on its way to the client."""

    id: str
    index: int
    text: str = ""
    worded: bool = False
    """All of its words are known."""
    drained: bool = False
    """All of its audio so far was sent."""
    done: bool = False
    call: Json | None = None
    """The item itself, where it is a function call."""

    def shown(self, modality: Modality, status: str) -> Json:
        """Return the item as a message with what is known of its words."""
        if self.call is not None:
            return self.call | {"status": status}
        content = [] if status == "in_progress" else [self._part(modality)]
        return {
            "id": self.id,
            "object": "realtime.item",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def _part(self, modality: Modality) -> Json:
        if modality == "text":
            return {"type": "output_text", "text": self.text}
        return {"type": "output_audio", "transcript": self.text}

    def part(self, modality: Modality) -> Json:
        """Return its content part, as the events about parts have it."""
        if modality == "text":
            return {"type": "text", "text": self.text}
        return {"type": "audio", "transcript": self.text}


@dataclass(slots=True)
class Response:
    """One response, from its first content until all of it was sent, or cut."""

    id: str
    modality: Modality
    metadata: Json | None = None
    items: dict[str, OutputItem] = field(default_factory=dict)
    """By the provider's id, or the call's."""
    finished: ReplyFinished | None = None
    """How the provider ended it; None while it goes on."""
    output: list[Json] = field(default_factory=list)
    """The items that are done."""
    created: bool = False
    done: bool = False

    @property
    def complete(self) -> bool:
        """True once nothing more will be sent of it."""
        return self.finished is not None and all(item.done for item in self.items.values())

    def shown(self, status: str, conversation: str, audio: Json, details: Json | None = None) -> Json:
        """Return the response as `response.created` and `response.done` show it."""
        usage = usage_of(self.finished) if status != "in_progress" else None
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": status,
            "status_details": details,
            "output": list(self.output),
            "conversation_id": conversation,
            "output_modalities": [self.modality],
            "max_output_tokens": "inf",
            "audio": {"output": audio},
            "usage": usage,
            "metadata": self.metadata,
        }

    def event(self, type_: str, item: OutputItem, **fields: object) -> Json:
        """Return an event about one of its items."""
        return {"type": type_, "response_id": self.id, "item_id": item.id, "output_index": item.index, **fields}

    def item_event(self, type_: str, item: OutputItem, status: str) -> Json:
        """Return an event that shows one of its items whole."""
        shown = item.shown(self.modality, status)
        return {"type": type_, "response_id": self.id, "output_index": item.index, "item": shown}


def open_item(response: Response, item: OutputItem, previous: str | None) -> Iterator[Json]:
    """Yield the events with which an item begins."""
    yield response.item_event("response.output_item.added", item, "in_progress")
    shown = item.shown(response.modality, "in_progress")
    yield {"type": "conversation.item.added", "previous_item_id": previous, "item": shown}
    if item.call is None:
        empty = OutputItem(item.id, item.index).part(response.modality)
        yield response.event("response.content_part.added", item, content_index=0, part=empty)


def close_item(response: Response, item: OutputItem, previous: str | None, status: str) -> Iterator[Json]:
    """Yield the events with which an item ends, whole (`completed`) or cut (`incomplete`)."""
    item.done = True
    if item.call is None:
        if response.modality == "text":
            yield response.event("response.output_text.done", item, content_index=0, text=item.text)
        else:
            yield response.event("response.output_audio.done", item, content_index=0)
            yield response.event("response.output_audio_transcript.done", item, content_index=0, transcript=item.text)
        yield response.event("response.content_part.done", item, content_index=0, part=item.part(response.modality))
    else:
        arguments, call = item.call["arguments"], item.call["call_id"]
        yield response.event("response.function_call_arguments.delta", item, call_id=call, delta=arguments)
        yield response.event(
            "response.function_call_arguments.done",
            item,
            call_id=call,
            name=item.call["name"],
            arguments=arguments,
        )
    shown = item.shown(response.modality, status)
    response.output.append(shown)
    yield response.item_event("response.output_item.done", item, status)
    yield {"type": "conversation.item.done", "previous_item_id": previous, "item": shown}


def usage_of(finished: ReplyFinished | None) -> Json | None:
    """Return the tokens of a response; None while the provider has not reported them."""
    if finished is None:
        return None
    tokens: TokenUsage = finished.usage
    return {
        "total_tokens": finished.input_tokens + finished.output_tokens,
        "input_tokens": finished.input_tokens,
        "output_tokens": finished.output_tokens,
        "input_token_details": {
            "text_tokens": tokens.text_in,
            "audio_tokens": tokens.audio_in,
            "image_tokens": tokens.image_in,
            "cached_tokens": tokens.cached_text_in + tokens.cached_audio_in + tokens.cached_image_in,
            "cached_tokens_details": {
                "text_tokens": tokens.cached_text_in,
                "audio_tokens": tokens.cached_audio_in,
                "image_tokens": tokens.cached_image_in,
            },
        },
        "output_token_details": {"text_tokens": tokens.text_out, "audio_tokens": tokens.audio_out},
    }


def status_details(finished: ReplyFinished | None, cut_by: str) -> tuple[str, Json | None]:
    """Return the status of a response and its details; `cut_by` is the reason it was cut for, or empty."""
    if cut_by:
        return "cancelled", {"type": "cancelled", "reason": cut_by}
    match finished:
        case ReplyFinished(status="completed") | None:
            return "completed", None
        case ReplyFinished(status="incomplete", detail=detail):
            reason = detail if detail in ("max_output_tokens", "content_filter") else "max_output_tokens"
            return "incomplete", {"type": "incomplete", "reason": reason}
        case ReplyFinished(status="cancelled"):
            return "cancelled", {"type": "cancelled", "reason": "turn_detected"}
        case ReplyFinished(detail=detail):
            error = {"type": "server_error", "code": detail or "unknown"}
            return "failed", {"type": "failed", "error": error}
