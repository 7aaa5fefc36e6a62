"""The events a client may send, and the fields of each."""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from backend.realtime.faults import invalid, no_event
from backend.realtime.fields import Whole, read


class ClientEvent(Struct, frozen=True, kw_only=True):
    """An event without fields of its own."""

    event_id: str | None = None


class SessionUpdate(ClientEvent, frozen=True, kw_only=True):
    """New settings of the session."""

    session: dict[str, Any]


class AudioAppend(ClientEvent, frozen=True, kw_only=True):
    """Some of the caller's audio, in base64."""

    audio: str


class ItemCreate(ClientEvent, frozen=True, kw_only=True):
    """An item to put into the conversation."""

    item: dict[str, Any]
    previous_item_id: str | None = None


class ItemNamed(ClientEvent, frozen=True, kw_only=True):
    """An event about one item."""

    item_id: str


class ItemTruncate(ItemNamed, frozen=True, kw_only=True):
    """How much of an item was heard."""

    content_index: Whole
    audio_end_ms: Whole


class ResponseCreate(ClientEvent, frozen=True, kw_only=True):
    """The wish for a response."""

    response: dict[str, Any] | None = None


class ResponseCancel(ClientEvent, frozen=True, kw_only=True):
    """A response that is no longer wanted."""

    response_id: str | None = None


CLIENT_EVENTS: Mapping[str, type[ClientEvent]] = {
    "session.update": SessionUpdate,
    "input_audio_buffer.append": AudioAppend,
    "input_audio_buffer.commit": ClientEvent,
    "input_audio_buffer.clear": ClientEvent,
    "conversation.item.create": ItemCreate,
    "conversation.item.retrieve": ItemNamed,
    "conversation.item.truncate": ItemTruncate,
    "conversation.item.delete": ItemNamed,
    "response.create": ResponseCreate,
    "response.cancel": ResponseCancel,
    "output_audio_buffer.clear": ClientEvent,
}


def checked(event: Any, handled: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the type of a client event and its fields, of those that are `handled`. Raises `Fault`."""
    if not isinstance(event, dict):
        raise no_event("The event is not a JSON object.")
    kind = event.get("type")
    if not isinstance(kind, str):
        raise no_event("The 'type' field is missing.")
    if kind not in handled:
        raise invalid("type", f"no event is {kind[:64]!r}. Supported are: {', '.join(sorted(handled))}.")
    read(event, CLIENT_EVENTS[kind], "")
    return kind, event
