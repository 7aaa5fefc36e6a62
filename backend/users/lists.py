"""A user's short list of records is one value, which is read and changed as a whole.

An undecodable record is skipped and counted, and stays in place. Unknown fields are ignored.
"""

import time
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from redis.asyncio import Redis

from backend.errors import BadRequest, MemoryUnavailable
from backend.runtime.faults import decode_or_skip
from backend.storage.client import Pipe, RedisStore
from backend.storage.keys import readable

T = TypeVar("T")


class UserLists(RedisStore, Generic[T]):
    """The lists `user:{id}:{name}` of all users, each kept `ttl_s` seconds after its last change; None: without limit.

    The list of the empty user id is always empty. Every method may raise `MemoryUnavailable`.
    """

    name: ClassVar[str]
    kind: type[T]
    """The type of the records."""

    def __init__(self, redis: Redis, *, ttl_s: int | None = None, clock: Callable[[], float] = time.time) -> None:
        super().__init__(redis)
        self._decoder = msgspec.json.Decoder(self.kind)
        self._ttl_s = ttl_s
        self._clock = clock

    async def read(self, user_id: str) -> list[T]:
        """Return the list in its written order."""
        raw = await self._client.call(lambda redis: redis.get(self._key(user_id))) if user_id else None
        return self._decoded(raw)[0]

    async def export(self, user_id: str) -> list[Any]:
        """Return the records for the user's export; undecodable ones in their stored form."""
        records, unreadable = self._decoded(await self._client.call(lambda redis: redis.get(self._key(user_id))))
        return [*records, *({"unreadable": readable(bytes(one))} for one in unreadable)]

    async def change(self, user_id: str, change: Callable[[list[T]], list[T]]) -> list[T]:
        """Write and return the result of `change`, a pure function that may run again. Its errors stop the write."""
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
            self.on_changed(pipe, user_id, old, new)
            return new

        return await self._client.transact(key, read=lambda pipe: pipe.get(key), write=write)

    def on_changed(self, pipe: Pipe, user_id: str, old: list[T], new: list[T]) -> None:
        """Queue further changes that belong to the list on `pipe`; by default there are none."""

    async def erase(self, user_id: str) -> None:
        """Delete the user's list."""
        await self._client.call(lambda redis: redis.delete(self._key(user_id)))

    def _decoded(self, raw: bytes | None) -> tuple[list[T], list[msgspec.Raw]]:
        """Return the decoded records, and the undecodable ones in their stored form."""
        try:
            stored = [] if raw is None else msgspec.json.decode(raw, type=list[msgspec.Raw])
        except msgspec.DecodeError as error:
            raise MemoryUnavailable(f"A user's {self.name} cannot be read.") from error
        records = [decode_or_skip(self.name, one, self._decoder.decode) for one in stored]
        return (
            [record for record in records if record is not None],
            [msgspec.Raw(bytes(one)) for one, record in zip(stored, records, strict=True) if record is None],
        )

    def _key(self, user_id: str) -> str:
        return f"user:{user_id}:{self.name}"


def one_line(text: str, limit: int, message: str, hint: str | None = None) -> str:
    """Return a user's text on one line. Raises `BadRequest` with `message` unless it has 1 to `limit` characters."""
    line = " ".join(text.split())
    if not line or len(line) > limit:
        raise BadRequest(message, hint=hint)
    return line
