"""When a visitor signs in, what they left before becomes the user's: all but background tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from backend.app.stores import Stores
from backend.runtime.json_objects import Json
from backend.storage.memory import HISTORY_LIMIT
from backend.users.profile_updates import FACT_LIMIT


class MovableStore(Protocol):
    """A store whose records can be given to another user."""

    async def move(self, user_id: str, to: str, /) -> None:
        """Give all of a user's records to another. May be repeated."""


async def merge_users(stores: Stores, movable: Iterable[MovableStore], visitor: str, user: str) -> None:
    """Move the visitor's data to the user; what the user has said of themselves already stays. May be repeated.

    When one store fails, what was not moved stays with the visitor. Raises `MemoryUnavailable`, `CalendarUnavailable`.
    """
    for store in movable:
        await store.move(visitor, user)
    memory = stores.memory
    for conversation in await memory.conversations(visitor):
        named = conversation.id
        kept = {message.message_id for message in await memory.recent_messages(user, named, HISTORY_LIMIT)}
        said = await memory.recent_messages(visitor, named, HISTORY_LIMIT)
        await memory.append_messages(user, named, *(each for each in said if each.message_id not in kept))
    known = await memory.user_context(visitor)
    if known:
        await memory.update_user_context(user, lambda stored: merged_profile(known, stored))
    memories, notes = await stores.memories.read(visitor), await stores.notes.read(visitor)
    if memories:
        await stores.memories.change(user, lambda kept: [*(m for m in memories if m not in kept), *kept])
    if notes:
        await stores.notes.change(user, lambda kept: [*(n for n in notes if n not in kept), *kept])
    await stores.memories.erase(visitor)
    await stores.notes.erase(visitor)
    await memory.forget_user(visitor)


def merged_profile(visitor: Json, user: Json) -> Json:
    """Return the user's profile with what the visitor's adds: entries of lists and objects, and what is missing."""
    merged = dict(visitor)
    for name, value in user.items():
        other = merged.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            merged[name] = other | value
        elif isinstance(value, list) and isinstance(other, list):
            merged[name] = [*(each for each in other if each not in value), *value][-FACT_LIMIT:]
        elif value or name not in merged:
            merged[name] = value
    return merged
