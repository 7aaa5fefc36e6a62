"""A short list of a user's, under one key of theirs: read as a whole, and changed as a whole, or not at all.

What is kept is JSON. A change is a pure function of the list; where somebody else wrote in between it runs again, on
what they left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import WatchError

from backend.errors import MemoryUnavailable
from backend.storage.guard import Guard

T = TypeVar("T")


class UserLists(Generic[T]):
    """The lists `user:{id}:{name}` of all users, each kept `ttl_s` seconds after its last change; None: for good.

    Nobody, the empty user id, has an empty one that stays empty. Everything may raise `MemoryUnavailable`.
    """

    def __init__(self, redis: Redis, name: str, kind: type[T], *, ttl_s: int | None = None) -> None:
        self._redis = redis
        self._name = name
        self._decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
        self._ttl_s = ttl_s
        self._guard = Guard()

    def __repr__(self) -> str:
        return f"UserLists({self._name}, {self._guard!r})"

    async def read(self, user_id: str) -> list[T]:
        """In the order it was written in."""
        raw = await self._guard(lambda: self._redis.get(self._key(user_id))) if user_id else None
        return self._decoded(raw)

    async def change(self, user_id: str, change: Callable[[list[T]], list[T]]) -> list[T]:
        """What it is then. `change` may run several times; what it raises comes through, and nothing is changed."""
        if not user_id:
            return []
        kept: list[T] = await self._guard(lambda: self._changed(self._key(user_id), change))
        return kept

    async def erase(self, user_id: str) -> None:
        """Leave nothing."""
        await self._guard(lambda: self._redis.delete(self._key(user_id)))

    async def _changed(self, key: str, change: Callable[[list[T]], list[T]]) -> list[T]:
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(key)
                old = self._decoded(cast(bytes | None, await pipe.get(key)))
                if (new := change(list(old))) == old:
                    return old
                pipe.multi()  # type: ignore[no-untyped-call]
                if new:
                    pipe.set(key, msgspec.json.encode(new), ex=self._ttl_s)
                else:
                    pipe.delete(key)
                try:
                    await pipe.execute()
                except WatchError:
                    continue
                return new

    def _decoded(self, raw: bytes | None) -> list[T]:
        try:
            return [] if raw is None else self._decoder.decode(raw)
        except msgspec.DecodeError as error:
            raise MemoryUnavailable(f"A user's {self._name} cannot be read.") from error

    def _key(self, user_id: str) -> str:
        return f"user:{user_id}:{self._name}"
