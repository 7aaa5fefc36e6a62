"""The input of a provider's model for each reply, from the scripted peer's log: the instructions, then items."""

import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Given = tuple[str, ...]


def given_for_replies(connection: Json) -> list[Given]:
    """Return for each reply of a connection the instructions and the ids of the conversation's items, in order."""
    reader = _Reader()
    entries: list[tuple[Json, Callable[[str, Json], None]]] = []
    entries += [(each, reader.received) for each in connection["received"]]
    entries += [(each, reader.sent) for each in connection["sent"]]
    for entry, take in sorted(entries, key=lambda each: float(each[0]["at"])):
        if entry["type"]:
            take(entry["type"], entry["event"])
    return reader.replies


class _Reader:
    def __init__(self) -> None:
        self.replies: list[Given] = []
        self._instructions = ""
        self._of_reply = ""
        self._items: dict[str, str] = {}

    def received(self, kind: str, event: Json) -> None:
        match kind:
            case "session.update":
                session = event["session"]
                self._instructions = session.get("instructions", "") + json.dumps(session.get("tools", []))
            case "response.create":
                self._of_reply = (event.get("response") or {}).get("instructions") or ""
            case "conversation.item.delete":
                self._items.pop(event["item_id"], None)
            case "conversation.item.truncate" if event["item_id"] in self._items:
                self._items[event["item_id"]] = f"{event['item_id']} to {event['audio_end_ms']}"

    def sent(self, kind: str, event: Json) -> None:
        match kind:
            case "input_audio_buffer.committed" | "response.output_audio.delta":
                self._items.setdefault(event["item_id"], event["item_id"])
            case "conversation.item.done":
                self._items.setdefault(event["item"]["id"], event["item"]["id"])
            case "response.created":
                self.replies.append((self._of_reply or self._instructions, *self._items.values()))
