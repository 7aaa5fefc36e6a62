"""The default conversation: items in order, found by id."""

from __future__ import annotations

from collections.abc import Iterator

from backend.realtime.faults import Fault
from backend.realtime.items import Item

MAX_ITEMS = 2000
"""More than a 60-minute call makes; beyond it new items are refused."""


class Conversation:
    """An ordered list of items with the API's insertion rules."""

    def __init__(self) -> None:
        self._items: list[Item] = []

    def append(self, item: Item) -> str | None:
        """Put `item` last; returns the id of the one before it."""
        return self.insert(item, self._items[-1].id if self._items else None)

    def insert(self, item: Item, after: str | None) -> str | None:
        """Put `item` after item `after` ('root': the front, None: the end); returns the id before it.

        Raises `Fault`.
        """
        if len(self._items) >= MAX_ITEMS:
            raise Fault(f"This offline server keeps at most {MAX_ITEMS} items.", code="conversation_too_long")
        if any(each.id == item.id for each in self._items):
            raise Fault(f"Item with ID '{item.id}' already exists.", code="item_create_duplicate_id", param="item.id")
        if item.type == "function_call_output" and not self.has_call(item.call_id):
            raise Fault(f"Tool call ID '{item.call_id}' not found in conversation.", code="invalid_tool_call_id")
        if item.type == "mcp_approval_response" and self._asked(item.approval) is None:
            raise Fault(f"Approval request '{item.approval}' not found.", code="invalid_approval_request_id")
        at = len(self._items) if after is None else 0 if after == "root" else self._index(after) + 1
        self._items.insert(at, item)
        return self._items[at - 1].id if at else None

    def find(self, item_id: str) -> Item:
        """The item of that id. Raises `Fault`."""
        return self._items[self._index(item_id)]

    def remove(self, item_id: str) -> None:
        """Forget an item. Raises `Fault`."""
        del self._items[self._index(item_id)]

    def agreed_to(self, server: str, name: str, arguments: str) -> str | None:
        """The id of the question about such a call that was answered with yes, the newest."""
        agreed = [item.approval for item in self._items if item.type == "mcp_approval_response" and item.approve]
        asked = [self._asked(each) for each in reversed(agreed)]
        found = (
            each for each in asked if each and (each.server, each.name, each.arguments) == (server, name, arguments)
        )
        return next((each.id for each in found), None)

    def _asked(self, item_id: str | None) -> Item | None:
        return next((each for each in self._items if each.id == item_id and each.type == "mcp_approval_request"), None)

    def has_call(self, call_id: str) -> bool:
        """Whether a function call of that id was made."""
        return any(item.type == "function_call" and item.call_id == call_id for item in self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<Conversation of {len(self)} items>"

    def _index(self, item_id: str) -> int:
        for number, item in enumerate(self._items):
            if item.id == item_id:
                return number
        raise Fault(f"Item with item_id not found: {item_id}", code="item_not_found", param="item_id")
