"""A short list of a user's records under one key: read as a whole, and changed as a whole or not at all.

A record that cannot be decoded is skipped and counted, and stays where it is. Fields that are not known here are
ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.runtime.faults import decode_or_skip
from backend.storage.client import Pipe, RedisClient

T = TypeVar("T")


class UserLists(Generic[T]):
    """The lists `user:{id}:{name}` of all users, each kept `ttl_s` seconds after its last change; None: for good.

    The list of the empty user id is empty and stays so. Every method may raise `MemoryUnavailable`.
    """

    def __init__(self, redis: Redis, name: str, kind: type[T], *, ttl_s: int | None = None) -> None:
        self._client = RedisClient(redis)
        self._name = name
        self._decoder = msgspec.json.Decoder(kind)
        self._ttl_s = ttl_s

    def __repr__(self) -> str:
        return f"UserLists({self._name}, {self._client!r})"

    async def read(self, user_id: str) -> list[T]:
        """Return the list in the order it was written in."""
        raw = await self._client.call(lambda redis: redis.get(self._key(user_id))) if user_id else None
        return self._decoded(raw)[0]

    async def change(self, user_id: str, change: Callable[[list[T]], list[T]]) -> list[T]:
        """Return what `change`, a pure function, made of the list.

        `change` runs again when somebody else wrote in between; what it raises comes through, and nothing is written.
        """
        if not user_id:
            return []
        key = self._key(user_id)

        def write(pipe: Pipe, raw: bytes | None) -> list[T]:
            old, unreadable = self._decoded(raw)
            new = change(list(old))
            if not new and not unreadable:
                pipe.delete(key)
            elif new != old:
                pipe.set(key, msgspec.json.encode([*unreadable, *new]), ex=self._ttl_s)
            return new

        return await self._client.transact(key, read=lambda pipe: pipe.get(key), write=write)

    async def erase(self, user_id: str) -> None:
        """Delete the user's list."""
        await self._client.call(lambda redis: redis.delete(self._key(user_id)))

    def _decoded(self, raw: bytes | None) -> tuple[list[T], list[msgspec.Raw]]:
        """Return the records that can be read, and the others as they are stored."""
        try:
            stored = [] if raw is None else msgspec.json.decode(raw, type=list[msgspec.Raw])
        except msgspec.DecodeError as error:
            raise MemoryUnavailable(f"A user's {self._name} cannot be read.") from error
        records = [decode_or_skip(self._name, one, self._decoder.decode) for one in stored]
        return (
            [record for record in records if record is not None],
            [msgspec.Raw(bytes(one)) for one, record in zip(stored, records, strict=True) if record is None],
        )

    def _key(self, user_id: str) -> str:
        return f"user:{user_id}:{self._name}"
