"""Moves what memory keeps of a user to another: conversations, context, caches, and whose sessions they are.

Each key moves in a transaction of its own: a reader finds a record under one of the two users, whenever it looks, and a
move that stopped halfway is carried on by repeating it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from redis.asyncio import Redis

from backend.runtime.json_objects import Json
from backend.storage import keys
from backend.storage.client import Pipe, RedisStore
from backend.storage.memory import HISTORY_LIMIT, decode_context


class MemoryMove(RedisStore):
    """Moves users' memory. A context is kept for `user_ttl_s` seconds after its last change; None: for good."""

    def __init__(self, redis: Redis, *, user_ttl_s: int | None = None) -> None:
        super().__init__(redis)
        self._user_ttl_s = user_ttl_s

    async def move(self, user_id: str, to: str, merged: Callable[[Json, Json], Json]) -> None:
        """Give everything of a user to another, whose context becomes `merged(theirs, own)`.

        A browser's fingerprint is not moved: it would lead back to somebody who has to sign in. Raises
        `MemoryUnavailable`.
        """
        owned = await self._client.call(lambda redis: redis.zrange(keys.owned(user_id), 0, -1, withscores=True))
        for raw, until in owned:
            name = raw.decode()
            if keys.holds_list(name):
                await self._move_conversation(name, keys.renamed(name, user_id, to), user_id, to)
            else:
                await self._move_value(name, keys.renamed(name, user_id, to), int(until), user_id, to)
        await self._move_context(user_id, to, merged)

    async def _move_conversation(self, source: str, target: str, user_id: str, to: str) -> None:
        async def read(pipe: Pipe) -> tuple[list[bytes], list[bytes], float, float]:
            expiries = await pipe.zscore(keys.owned(user_id), source), await pipe.zscore(keys.owned(to), target)
            return (
                await pipe.lrange(source, 0, -1),
                await pipe.lrange(target, 0, -1),
                expiries[0] or 0,
                expiries[1] or 0,
            )

        def write(pipe: Pipe, found: tuple[list[bytes], list[bytes], float, float]) -> None:
            theirs, own, *expiries = found
            known = {message.message_id: message for raw in (theirs, own) for message in keys.decode_messages(raw)}
            messages = sorted(known.values(), key=lambda message: message.at)[-HISTORY_LIMIT:]
            pipe.delete(source)
            pipe.zrem(keys.owned(user_id), source)
            if theirs and messages:
                until = int(max(expiries))
                pipe.delete(target)
                pipe.rpush(target, *map(msgspec.json.encode, messages))
                pipe.expireat(target, until)
                _list(pipe, to, target, until)

        await self._client.transact(source, target, read=read, write=write)

    async def _move_value(self, source: str, target: str, until: int, user_id: str, to: str) -> None:
        """Move a cached value; a session's key stays where it is, listed as the other user's."""

        def write(pipe: Pipe, value: bytes | None) -> None:
            pipe.zrem(keys.owned(user_id), source)
            if target != source:
                pipe.delete(source)
            if target != source and value is not None and target:
                pipe.set(target, value, nx=True)
                pipe.expireat(target, until)
            if target:
                _list(pipe, to, target, until)

        await self._client.transact(source, read=lambda pipe: pipe.get(source), write=write)

    async def _move_context(self, user_id: str, to: str, merged: Callable[[Json, Json], Json]) -> None:
        source, target = keys.context(user_id), keys.context(to)

        async def read(pipe: Pipe) -> tuple[bytes | None, bytes | None]:
            return await pipe.get(source), await pipe.get(target)

        def write(pipe: Pipe, found: tuple[bytes | None, bytes | None]) -> None:
            theirs, own = map(decode_context, found)
            if theirs:
                pipe.set(target, msgspec.json.encode(merged(theirs, own)), ex=self._user_ttl_s)
                pipe.delete(source)
                pipe.publish(keys.CHANGES, f"move {to}")  # every process reads it again, this one too

        await self._client.transact(source, target, read=read, write=write)


def _list(pipe: Pipe, user_id: str, name: str, until: int) -> None:
    pipe.zadd(keys.owned(user_id), {name: until})
    pipe.expire(keys.owned(user_id), keys.FINGERPRINT_TTL_S)
