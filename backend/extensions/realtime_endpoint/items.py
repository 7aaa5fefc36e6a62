"""The items of a conversation as its client knows them: what it may retrieve, truncate and delete."""

from __future__ import annotations

import copy

from backend.runtime.json_objects import Json

ITEMS_LIMIT = 1_000
"""Items remembered; the oldest are forgotten first."""


class ItemList:
    """The items in their order."""

    def __init__(self) -> None:
        self._items: dict[str, Json] = {}
        self._truncated: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"ItemList({len(self._items)} items)"

    @property
    def last(self) -> str | None:
        """The id of the newest item."""
        return next(reversed(self._items), None)

    def find(self, item_id: str) -> Json | None:
        """Return a copy of the item."""
        return copy.deepcopy(self._items.get(item_id))

    def before(self, item_id: str) -> str | None:
        """Return the id of the item before that one."""
        previous = None
        for each in self._items:
            if each == item_id:
                return previous
            previous = each
        return None

    def add(self, item: Json) -> None:
        """Put an item at the end."""
        self._items[item["id"]] = item
        if len(self._items) > ITEMS_LIMIT:
            oldest = next(iter(self._items))
            del self._items[oldest]
            self._truncated.pop(oldest, None)

    def replace(self, item: Json) -> None:
        """Put an item where that of the same id is."""
        if item["id"] in self._items:
            self._items[item["id"]] = item

    def note_transcript(self, item_id: str, text: str) -> None:
        """Note what was said in an item of the caller's."""
        if item := self._items.get(item_id):
            item["content"] = [{**item["content"][0], "transcript": text}]

    def truncate(self, item_id: str, heard_ms: int) -> bool:
        """Note that only so much of an item was heard; False where it is not there, or less was noted before."""
        if item_id not in self._items or self._truncated.get(item_id, heard_ms + 1) <= heard_ms:
            return False
        self._truncated[item_id] = heard_ms
        return True

    def delete(self, item_id: str) -> bool:
        """Forget an item; False where it is not there."""
        self._truncated.pop(item_id, None)
        return self._items.pop(item_id, None) is not None
