"""A short list of a user's, under one key of theirs: read as a whole, and changed as a whole, or not at all.

What is kept is JSON. A change is a pure function of the list; where somebody else wrote in between it runs again, on
what they left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.storage.client import Pipe, RedisClient

T = TypeVar("T")


class UserLists(Generic[T]):
    """The lists `user:{id}:{name}` of all users, each kept `ttl_s` seconds after its last change; None: for good.

    Nobody, the empty user id, has an empty one that stays empty. Everything may raise `MemoryUnavailable`.
    """

    def __init__(self, redis: Redis, name: str, kind: type[T], *, ttl_s: int | None = None) -> None:
        self._client = RedisClient(redis)
        self._name = name
        self._decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
        self._ttl_s = ttl_s

    def __repr__(self) -> str:
        return f"UserLists({self._name}, {self._client!r})"

    async def read(self, user_id: str) -> list[T]:
        """In the order it was written in."""
        raw = await self._client.call(lambda redis: redis.get(self._key(user_id))) if user_id else None
        return self._decoded(raw)

    async def change(self, user_id: str, change: Callable[[list[T]], list[T]]) -> list[T]:
        """What it is then. `change` may run several times; what it raises comes through, and nothing is changed."""
        if not user_id:
            return []
        key = self._key(user_id)

        def write(pipe: Pipe, raw: bytes | None) -> list[T]:
            old = self._decoded(raw)
            new = change(list(old))
            if not new:
                pipe.delete(key)
            elif new != old:
                pipe.set(key, msgspec.json.encode(new), ex=self._ttl_s)
            return new

        return await self._client.transact(key, read=lambda pipe: pipe.get(key), write=write)

    async def erase(self, user_id: str) -> None:
        """Leave nothing."""
        await self._client.call(lambda redis: redis.delete(self._key(user_id)))

    def _decoded(self, raw: bytes | None) -> list[T]:
        try:
            return [] if raw is None else self._decoder.decode(raw)
        except msgspec.DecodeError as error:
            raise MemoryUnavailable(f"A user's {self._name} cannot be read.") from error

    def _key(self, user_id: str) -> str:
        return f"user:{user_id}:{self._name}"
