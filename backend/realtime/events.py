"""Server events about the caller's audio and about items, which both ends send alike."""

from collections.abc import Iterator
from typing import Any

from backend.realtime.items import Item

Event = dict[str, Any]


def item_put_in(item: Item, previous: str | None) -> Iterator[Event]:
    """Yield the events of a whole item that is in the conversation, behind item `previous`."""
    yield {"type": "conversation.item.added", "previous_item_id": previous, "item": item.shown()}
    yield {"type": "conversation.item.done", "previous_item_id": previous, "item": item.shown()}


def audio_committed(item: Item, previous: str | None) -> Iterator[Event]:
    """Yield the events of the caller's audio that has become an item."""
    yield {"type": "input_audio_buffer.committed", "previous_item_id": previous, "item_id": item.id}
    yield from item_put_in(item, previous)


def transcription(what: str, item_id: str, **fields: Any) -> Event:
    """Return news of an item's transcription: `delta`, `completed` or `failed`."""
    kind = f"conversation.item.input_audio_transcription.{what}"
    return {"type": kind, "item_id": item_id, "content_index": 0, **fields}


def heard_for(seconds: float) -> Event:
    """Return the usage of a transcription."""
    return {"type": "duration", "seconds": seconds}


def truncated(item_id: str, audio_end_ms: int) -> Event:
    """Return the event of an item that was heard only up to a moment."""
    return {
        "type": "conversation.item.truncated",
        "item_id": item_id,
        "content_index": 0,
        "audio_end_ms": audio_end_ms,
    }
