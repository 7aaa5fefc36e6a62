"""Memories are short texts with tags that a user wants remembered, in their own words.

All memories of a user are stored under `user:{id}:memories` (a JSON list, oldest first), so that no other user can name
them and a search reads all together. They are kept without limit, or for the server's retention time after their last
change. The empty user id has no memories.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.errors import BadRequest
from backend.storage.client import Pipe
from backend.storage.record_format import FORMAT, Format
from backend.users.lists import UserLists, one_line
from backend.users.text_vectors import digest, vectors_key

LIMIT = 200
"""The most memories of one user; beyond that, the oldest is dropped."""
TEXT_LIMIT = 1_000
"""The most characters of one memory."""
TAG_LIMIT = 8
TAG_CHARS = 40


@dataclass(frozen=True, slots=True, repr=False)
class StoredMemory:
    """One memory. `created` is Unix time in seconds."""

    id: str
    text: str
    created: float
    tags: tuple[str, ...] = ()
    format: Format = FORMAT


class Memories(UserLists[StoredMemory]):
    """All users' memories. Every method may raise `MemoryUnavailable`."""

    name = "memories"
    kind = StoredMemory

    async def add(self, user_id: str, text: str, tags: Sequence[str] = ()) -> StoredMemory:
        """Keep a memory. Beyond `LIMIT` the oldest is dropped.

        Raises `BadRequest` for a text or tags that cannot be kept, or the empty user id.
        """
        if not user_id:
            raise BadRequest("Memories can be kept only for a known user.")
        new = StoredMemory(f"mem_{secrets.token_hex(8)}", _text(text), self._clock(), _tags(tags))
        await self.change(user_id, lambda kept: [*kept, new][-LIMIT:])
        return new

    async def all(self, user_id: str) -> list[StoredMemory]:
        """Return every memory, the newest first."""
        return (await self.read(user_id))[::-1]

    async def get(self, user_id: str, memory_id: str) -> StoredMemory | None:
        """Return that memory, or None."""
        return _named(await self.all(user_id), memory_id)

    async def update(
        self, user_id: str, memory_id: str, *, text: str | None = None, tags: Sequence[str] | None = None
    ) -> StoredMemory | None:
        """Change the text or the tags of a memory, and return it; None when it does not exist. Raises `BadRequest`."""
        new_text = None if text is None else _text(text)
        new_tags = None if tags is None else _tags(tags)

        def changed(one: StoredMemory) -> StoredMemory:
            if one.id != memory_id:
                return one
            return replace(one, text=new_text or one.text, tags=one.tags if new_tags is None else new_tags)

        return _named(await self.change(user_id, lambda kept: list(map(changed, kept))), memory_id)

    async def delete(self, user_id: str, memory_id: str) -> bool:
        """Delete a memory, and return whether it existed."""
        found = False

        def without(kept: list[StoredMemory]) -> list[StoredMemory]:
            nonlocal found
            found = _named(kept, memory_id) is not None
            return [one for one in kept if one.id != memory_id]

        await self.change(user_id, without)
        return found

    def on_changed(self, pipe: Pipe, user_id: str, old: list[StoredMemory], new: list[StoredMemory]) -> None:
        """Delete the vectors of removed texts."""
        if gone := {one.text for one in old} - {one.text for one in new}:
            pipe.hdel(vectors_key(user_id), *map(digest, gone))

    async def erase(self, user_id: str) -> None:
        """Delete the user's memories and the vectors of all their texts."""
        await self._client.call(lambda redis: redis.delete(self._key(user_id), vectors_key(user_id)))


def _text(text: str) -> str:
    return one_line(text, TEXT_LIMIT, f"A memory has 1 to {TEXT_LIMIT:,} characters.")


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags in lower case, each once. Raises `BadRequest`."""
    cleaned = tuple(dict.fromkeys(tag.strip().lower() for tag in tags if tag.strip()))
    if len(cleaned) > TAG_LIMIT or any(len(tag) > TAG_CHARS for tag in cleaned):
        raise BadRequest(f"A memory has at most {TAG_LIMIT} tags of {TAG_CHARS} characters.")
    return cleaned


def _named(kept: Sequence[StoredMemory], memory_id: str) -> StoredMemory | None:
    return next((one for one in kept if one.id == memory_id), None)
