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
    """An ordered list of items with the API's insertion rules."""

    def __init__(self, limit: int = MAX_ITEMS, *, forgets: bool = False) -> None:
        """Beyond the `limit` the oldest items are forgotten, or new ones are refused."""
        self._items: list[Item] = []
        self._limit = limit
        self._forgets = forgets

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: Item) -> str | None:
        """Put `item` last; return the id of the one before it. Raises `Fault`."""
        return self.insert(item, None)

    def insert(self, item: Item, after: str | None) -> str | None:
        """Put `item` after item `after` ('root': the front, None: the end); return the id before it.

        Raises `Fault`.
        """
        if any(each.id == item.id for each in self._items):
            message = f"Error adding item: an item with id '{item.id}' already exists."
            raise Fault(message, code="item_create_duplicate_item_id", param="item.id")
        if len(self._items) >= self._limit:
            self._make_room()
        at = len(self._items) if after is None else 0 if after == "root" else self._place_after(after)
        self._items.insert(at, item)
        return self._items[at - 1].id if at else None

    def get(self, item_id: str) -> Item | None:
        """Return the item of that id, if there is one."""
        return next((each for each in self._items if each.id == item_id), None)

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
        """Return the id of the item before that one."""
        previous = None
        for each in self._items:
            if each is item:
                return previous
            previous = each.id
        return None  # the client has deleted it

    def remove(self, item: Item) -> None:
        """Forget an item that is there."""
        self._items = [each for each in self._items if each is not item]

    def check_answers(self, item: Item) -> None:
        """Refuse a result of a call that was not made. Raises `Fault`."""
        if item.type == "function_call_output" and not self.has_call(item.call_id):
            raise Fault(f"Tool call ID '{item.call_id}' not found in conversation.", code="invalid_tool_call_id")

    def has_call(self, call_id: str) -> bool:
        """Return whether a function call of that id was made."""
        return any(item.type == "function_call" and item.call_id == call_id for item in self._items)

    def _make_room(self) -> None:
        if not self._forgets:
            raise Fault(f"A conversation has at most {self._limit} items here.", code="conversation_too_long")
        del self._items[0]

    def _place_after(self, item_id: str) -> int:
        if (item := self.get(item_id)) is None:
            message = f"Item with item_id not found: {item_id[:64]}."
            raise Fault(message, code="item_not_found", param="previous_item_id")
        return self._items.index(item) + 1
