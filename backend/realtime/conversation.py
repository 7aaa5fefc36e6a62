"""The default conversation: items in order, found by id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from backend.realtime.faults import Fault
from backend.realtime.items import Item

MAX_ITEMS = 2000
"""The most items that are kept: more than a 60-minute call makes."""
Deed = Literal["retrieve", "truncate", "delete"]


class Conversation:
    """Items in the order in which they came; the oldest are forgotten beyond the limit."""

    def __init__(self, limit: int = MAX_ITEMS) -> None:
        self._items: dict[str, Item] = {}
        self._limit = limit

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: Item) -> str | None:
        """Put `item` last; return the id of the one before it. Raises `Fault`."""
        if item.id in self._items:
            message = f"Error adding item: an item with id '{item.id}' already exists."
            raise Fault(message, code="item_create_duplicate_item_id", param="item.id")
        previous = next(reversed(self._items), None)
        self._items[item.id] = item
        if len(self._items) > self._limit:
            del self._items[next(iter(self._items))]
        return previous

    def get(self, item_id: str) -> Item | None:
        """Return the item of that id, if there is one."""
        return self._items.get(item_id)

    def find(self, item_id: str, to: Deed) -> Item:
        """Return the item of that id; `to` says what for. Raises `Fault`."""
        if (item := self.get(item_id)) is None:
            message = f"Item with item_id not found: {item_id[:64]}."
            raise Fault(message, code=f"item_{to}_invalid_item_id", param="item_id")
        return item

    def referred(self, item_id: str, param: str) -> Item:
        """Return the item that a response's input refers to. Raises `Fault`."""
        if (item := self.get(item_id)) is None:
            raise Fault(f"'{param}' names no item.", code="item_not_found", param=param)
        return item

    def before(self, item: Item) -> str | None:
        """Return the id of the item before that one; None before the first, or where the client has deleted it."""
        previous = None
        for each in self._items:
            if each == item.id:
                return previous
            previous = each
        return None

    def remove(self, item: Item) -> None:
        """Forget an item that is there."""
        del self._items[item.id]

    def check_answers(self, item: Item) -> None:
        """Refuse a result of a call that was not made. Raises `Fault`."""
        if item.type == "function_call_output" and not self.has_call(item.call_id):
            raise Fault(f"Tool call ID '{item.call_id}' not found in conversation.", code="invalid_tool_call_id")

    def has_call(self, call_id: str) -> bool:
        """Return whether a function call of that id was made."""
        return any(item.type == "function_call" and item.call_id == call_id for item in self)
