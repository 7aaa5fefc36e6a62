"""The events a client may send, and which fields each must have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from backend.realtime.faults import invalid, missing, no_event
from backend.realtime.fields import mapping, text, whole


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an event."""

    read: Callable[[Any, str], object]
    """Takes the value and its name. Raises `Fault`."""
    required: bool = True


ITEM_ID = {"item_id": Field(text)}
CLIENT_EVENTS: Mapping[str, Mapping[str, Field]] = {
    "session.update": {"session": Field(mapping)},
    "input_audio_buffer.append": {"audio": Field(text)},
    "input_audio_buffer.commit": {},
    "input_audio_buffer.clear": {},
    "conversation.item.create": {"item": Field(mapping), "previous_item_id": Field(text, required=False)},
    "conversation.item.retrieve": ITEM_ID,
    "conversation.item.truncate": {
        **ITEM_ID,
        "content_index": Field(whole),
        "audio_end_ms": Field(whole),
    },
    "conversation.item.delete": ITEM_ID,
    "response.create": {"response": Field(mapping, required=False)},
    "response.cancel": {"response_id": Field(text, required=False)},
    "output_audio_buffer.clear": {},
}
"""Event → its fields beside `type` and `event_id`."""


def checked(event: Any, handled: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the type of a client event and its fields, of those that are `handled`. Raises `Fault`."""
    if not isinstance(event, dict):
        raise no_event("The event is not a JSON object.")
    kind = event.get("type")
    if not isinstance(kind, str):
        raise no_event("The 'type' field is missing.")
    if event.get("event_id") is not None:
        text(event["event_id"], "event_id")
    if kind not in handled:
        raise invalid("type", f"no event is {kind[:64]!r}. Supported are: {', '.join(sorted(handled))}.")
    for name, field in CLIENT_EVENTS[kind].items():
        if event.get(name) is not None:
            field.read(event[name], name)
        elif field.required:
            raise missing(name)
    return kind, event
