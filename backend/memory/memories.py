"""What a user wants remembered, in their own words: short texts with tags, each to be found, changed and deleted.

They lie in one Redis hash of their owner's, `user:{id}:memories` (id → JSON), so that nobody else can name them. Kept
for good, or for so long after their last change as everything that is known of a user. Whoever asks for a user that
is not known, the empty id, gets nothing and keeps nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis
from redis.exceptions import WatchError

from backend.errors import BadRequest
from backend.memory.guard import Guard

LIMIT = 200
"""Memories of one user; the oldest falls off."""
TEXT_LIMIT = 1_000
"""Characters of one."""
TAG_LIMIT = 8
TAG_CHARS = 40


@dataclass(frozen=True, slots=True, repr=False)
class StoredMemory:
    """One memory. `created` is Unix time in seconds."""

    id: str
    text: str
    created: float
    tags: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"StoredMemory({self.id}, {len(self.text)} characters)"  # and nobody's words


_decoder = msgspec.json.Decoder(StoredMemory)


class Memories(Protocol):
    """Every method may raise `MemoryUnavailable`."""

    async def add(self, user_id: str, text: str, tags: Sequence[str] = ()) -> StoredMemory:
        """Keep one. Raises `BadRequest` for a text or tags that are none, or a user we do not know."""
        ...

    async def all(self, user_id: str) -> list[StoredMemory]:
        """Every one, the newest first."""
        ...

    async def get(self, user_id: str, memory_id: str) -> StoredMemory | None:
        """That one, or None."""
        ...

    async def update(
        self, user_id: str, memory_id: str, *, text: str | None = None, tags: Sequence[str] | None = None
    ) -> StoredMemory | None:
        """Change its text or tags; None when there is no such memory. Raises `BadRequest`."""
        ...

    async def delete(self, user_id: str, memory_id: str) -> bool:
        """Whether there was one."""
        ...

    async def erase(self, user_id: str) -> None:
        """Delete every one."""
        ...


class RedisMemories:
    """`Memories` over a redis.asyncio client, which stays its owner's."""

    def __init__(self, client: Redis, *, ttl_s: int | None = None, clock: Callable[[], float] = time.time) -> None:
        self._redis = client
        self._guard = Guard()
        self._ttl_s = ttl_s
        self._clock = clock

    def __repr__(self) -> str:
        return f"RedisMemories({self._guard!r})"

    async def add(self, user_id: str, text: str, tags: Sequence[str] = ()) -> StoredMemory:
        if not user_id:
            raise BadRequest("Memories are kept for a user we know only.")
        new = StoredMemory(f"mem_{secrets.token_hex(8)}", checked_text(text), self._clock(), checked_tags(tags))
        others = (await self.all(user_id))[LIMIT - 1 :]
        pipe = self._redis.pipeline(transaction=True)
        pipe.hset(_key(user_id), new.id, msgspec.json.encode(new))
        if others:
            pipe.hdel(_key(user_id), *(old.id for old in others))
        if self._ttl_s:
            pipe.expire(_key(user_id), self._ttl_s)
        await self._guard(pipe.execute)
        return new

    async def all(self, user_id: str) -> list[StoredMemory]:
        stored: list[bytes] = await self._guard(lambda: self._redis.hvals(_key(user_id))) if user_id else []
        kept = [one for raw in stored if (one := _read(raw)) is not None]
        return sorted(kept, key=lambda one: (one.created, one.id), reverse=True)

    async def get(self, user_id: str, memory_id: str) -> StoredMemory | None:
        raw = await self._guard(lambda: self._redis.hget(_key(user_id), memory_id)) if user_id else None
        return None if raw is None else _read(raw)

    async def update(
        self, user_id: str, memory_id: str, *, text: str | None = None, tags: Sequence[str] | None = None
    ) -> StoredMemory | None:
        changes: dict[str, Any] = {} if text is None else {"text": checked_text(text)}
        if tags is not None:
            changes["tags"] = checked_tags(tags)
        changed: StoredMemory | None = await self._guard(lambda: self._change(user_id, memory_id, changes))
        return changed

    async def delete(self, user_id: str, memory_id: str) -> bool:
        return bool(user_id and await self._guard(lambda: self._redis.hdel(_key(user_id), memory_id)))

    async def erase(self, user_id: str) -> None:
        await self._guard(lambda: self._redis.delete(_key(user_id)))

    async def export(self, user_id: str) -> list[dict[str, Any]]:
        """Every one as JSON data, for the user to take away."""
        return [msgspec.to_builtins(one) | {"tags": list(one.tags)} for one in await self.all(user_id)]

    async def _change(self, user_id: str, memory_id: str, changes: dict[str, Any]) -> StoredMemory | None:
        """Whatever happens meanwhile, what was deleted stays deleted."""
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(_key(user_id))
                raw: Any = await pipe.hget(_key(user_id), memory_id)
                old = None if raw is None else _read(raw)
                if old is None:
                    return None
                new = replace(old, **changes)
                pipe.multi()  # type: ignore[no-untyped-call]
                pipe.hset(_key(user_id), memory_id, msgspec.json.encode(new))
                if self._ttl_s:
                    pipe.expire(_key(user_id), self._ttl_s)
                try:
                    await pipe.execute()
                except WatchError:
                    continue
                return new


def checked_text(text: str) -> str:
    """In the form it is kept in. Raises `BadRequest`."""
    line = " ".join(text.split())
    if not line or len(line) > TEXT_LIMIT:
        raise BadRequest(f"A memory has 1 to {TEXT_LIMIT:,} characters.")
    return line


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Likewise: lower-case, each once. Raises `BadRequest`."""
    cleaned = tuple(dict.fromkeys(tag.strip().lower() for tag in tags if tag.strip()))
    if len(cleaned) > TAG_LIMIT or any(len(tag) > TAG_CHARS for tag in cleaned):
        raise BadRequest(f"A memory has at most {TAG_LIMIT} tags of {TAG_CHARS} characters.")
    return cleaned


def _key(user_id: str) -> str:
    return f"user:{user_id}:memories"


def _read(raw: bytes) -> StoredMemory | None:
    """None for what somebody else wrote there."""
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError:
        return None
