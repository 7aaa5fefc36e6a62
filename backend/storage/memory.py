"""Memory outlives a call: conversations, users' contexts and caches.

Redis 6.2 or newer stores it: an operator's server, an embedded one, or one in this process (`embedded`). Every method
may raise `MemoryUnavailable`, after a second at most, and callers go on without it. Nothing here is awaited on the
audio path (see `outbox`).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar, cast

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable, PeerError
from backend.runtime.faults import call_observer
from backend.runtime.json_objects import Json, decode_object
from backend.runtime.supervisor import cancel_all, start_among
from backend.storage import keys
from backend.storage.client import Pipe, RedisStore
from backend.storage.messages import ConversationInfo, Message
from backend.storage.pubsub import PubSub

log = logging.getLogger(__name__)

HISTORY_TTL_S = 3600
"""Seconds a conversation is kept after its last message."""
HISTORY_LIMIT = 200
"""The most messages of one conversation; older ones are dropped."""

ContextObserver = Callable[[Json], None]
"""Gets a user's current context, and returns immediately."""
Unwatch = Callable[[], None]
"""Removes an observer. May be called twice."""
UNSURE_LIMIT = 100
"""The most messages remembered after failed appends, which may or may not have stored them; usually one."""
UNSURE_WITHIN = 20
"""The number of newest messages among which such a message is sought."""

T = TypeVar("T")
Close = Callable[[], Awaitable[None]]


class Memory(RedisStore):
    """The memory of all users. Their ids are opaque; texts are never logged.

    It owns the Redis client, and calls `also_close` after closing it. A user's context is kept for `user_ttl_s` seconds
    after its last change; None: without limit.
    """

    def __init__(self, redis: Redis, *, also_close: Close | None = None, user_ttl_s: int | None = None) -> None:
        super().__init__(redis)
        self._also_close = also_close
        self._user_ttl_s = user_ttl_s
        self.observers = ContextObservers()
        self.origin = secrets.token_hex(8)
        """The name of this client in the changes it publishes."""
        self._unsure: deque[str] = deque(maxlen=UNSURE_LIMIT)
        """The messages of failed appends, which Redis may still have carried out."""

    @property
    def redis(self) -> Redis:
        """The client, for stores beside it."""
        return self._client.redis

    async def append_messages(self, user_id: str, conversation_id: str, *messages: Message) -> None:
        """Append messages to `user:{id}:conversation:{id}` together, and extend the life of the conversation.

        A failed append may be repeated: messages that were stored nevertheless are not appended twice.
        """
        key = keys.conversation(user_id, conversation_id)
        if any(message.message_id in self._unsure for message in messages):
            messages = await self._not_yet_in(key, messages)
        if not messages:
            return
        pipe = self._client.pipeline()
        pipe.rpush(key, *map(msgspec.json.encode, messages))
        pipe.ltrim(key, -HISTORY_LIMIT, -1)
        pipe.expire(key, HISTORY_TTL_S)
        self._list_owned(pipe, user_id, {key: int(time.time()) + HISTORY_TTL_S})
        try:
            await self._client.execute(pipe)
        except MemoryUnavailable:
            self._unsure.extend(message.message_id for message in messages)
            raise

    async def recent_messages(self, user_id: str, conversation_id: str, limit: int = 20) -> list[Message]:
        """Return the newest `limit` messages, oldest first; empty for a conversation that is not the user's."""
        if limit <= 0:
            return []
        raw = await self._client.call(
            lambda redis: redis.lrange(keys.conversation(user_id, conversation_id), -limit, -1)
        )
        return keys.decode_messages(raw)

    async def conversations(self, user_id: str) -> list[ConversationInfo]:
        """Return the user's conversations, the latest first."""

        async def gather(redis: Redis) -> list[ConversationInfo]:
            found = await self._conversations(redis, user_id)
            pipe = redis.pipeline(transaction=False)
            for name, _ in found:
                pipe.llen(keys.conversation(user_id, name))
            counts = await pipe.execute() if found else []
            return [
                ConversationInfo(name, count, until - HISTORY_TTL_S)
                for (name, until), count in zip(found, counts, strict=True)
                if count
            ]

        notes: list[ConversationInfo] = await self._client.call(gather)
        return notes

    async def latest_messages(
        self, user_id: str, *, conversations: int, messages: int, besides: str = ""
    ) -> list[list[Message]]:
        """Return the newest `messages` of each of the user's latest `conversations`, oldest first, latest conversation
        first.

        The conversation `besides` is left out and does not count.
        """

        async def gather(redis: Redis) -> list[list[bytes]]:
            names = [name for name, _ in await self._conversations(redis, user_id) if name != besides]
            if not names or conversations <= 0 or messages <= 0:
                return []
            pipe = redis.pipeline(transaction=False)
            for name in names[:conversations]:
                pipe.lrange(keys.conversation(user_id, name), -messages, -1)
            return cast(list[list[bytes]], await pipe.execute())

        raw: list[list[bytes]] = await self._client.call(gather)
        return [keys.decode_messages(items) for items in raw if items]

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Delete a conversation, if the user has it."""
        key = keys.conversation(user_id, conversation_id)
        pipe = self._client.pipeline()
        pipe.delete(key)
        pipe.zrem(keys.owned(user_id), key)
        await self._client.execute(pipe)

    async def cache_get(self, scope: str, key: str) -> str | None:
        """Return a cached value, or None. `scope` is `shared`, or a user's id for entries of that user alone."""
        raw: bytes | None = await self._client.call(lambda redis: redis.get(keys.cached(scope, key)))
        return None if raw is None else raw.decode()

    async def cache_put(self, scope: str, key: str, value: str, ttl_s: int) -> None:
        """Cache `value` for `ttl_s` seconds."""
        name = keys.cached(scope, key)
        if scope == keys.SHARED:
            await self._client.call(lambda redis: redis.set(name, value, ex=ttl_s))
        else:
            await self._put_owned(scope, name, value, ttl_s)

    async def user_context(self, user_id: str) -> Json:
        """Return the JSON object at `user:{id}:context`, empty when nothing is known; see `backend.users.profile`."""
        raw = await self._client.call(lambda redis: redis.get(keys.context(user_id)))
        return decode_context(raw)

    async def update_user_context(
        self, user_id: str, change: Callable[[Json], Json], *, only_stored: bool = False
    ) -> Json:
        """Apply `change` to the context atomically and return the result; `change` may run more than once.

        A change without effect is not published, but stores an empty context and extends the life of any other. With
        `only_stored`, nothing is written where no context is stored, as after an erasure.
        """
        key = keys.context(user_id)

        def write(pipe: Pipe, raw: bytes | None) -> tuple[Json, bool]:
            if only_stored and raw is None:
                return {}, False
            stored = decode_context(raw)
            changed = change(stored)
            pipe.set(key, msgspec.json.encode(changed), ex=self._user_ttl_s)
            if changed != stored:
                pipe.publish(keys.CHANGES, f"{self.origin} {user_id}")
            return changed, changed != stored

        changed, is_new = await self._client.transact(key, read=lambda pipe: pipe.get(key), write=write)
        if is_new:
            self.observers.call(user_id, changed)
        return changed

    async def export_user(self, user_id: str) -> Json:
        """Return everything stored for a user, by key, with JSON decoded."""

        async def gather(redis: Redis) -> Json:
            listed = cast(list[bytes], await redis.zrange(keys.owned(user_id), 0, -1))
            names = (keys.context(user_id), *(name.decode() for name in listed))
            return {name: value for name in names if (value := await self._read(redis, name))}

        everything: Json = await self._client.call(gather)
        return everything

    async def forget_user(self, user_id: str) -> None:
        """Delete everything stored for a user: context, conversations and cache."""

        async def forget(redis: Redis) -> None:
            owned = await redis.zrange(keys.owned(user_id), 0, -1)
            await redis.delete(keys.context(user_id), keys.owned(user_id), *owned)
            await redis.publish(keys.CHANGES, f"{self.origin} {user_id}")

        await self._client.call(forget)
        self.observers.call(user_id, {})

    async def ping(self) -> bool:
        """Return whether memory answers; never raises."""
        try:
            await self._client.call(lambda redis: redis.ping())
        except MemoryUnavailable:
            return False
        return True

    async def version(self) -> str:
        """Return the server's version, e.g. "7.0.15"."""
        info = await self._client.call(lambda redis: redis.info("server"))
        return str(info["redis_version"])

    async def close(self) -> None:
        """Close the connections, and end an embedded server."""
        await self._client.redis.aclose()
        if self._also_close is not None:
            await self._also_close()

    async def _put_owned(self, user_id: str, name: str, value: str, ttl_s: int) -> None:
        """Set and list a key of a user, and drop expired keys from the list."""
        pipe = self._client.pipeline()
        pipe.set(name, value, ex=ttl_s)
        self._list_owned(pipe, user_id, {name: int(time.time()) + ttl_s})
        await self._client.execute(pipe)

    def _list_owned(self, pipe: Any, user_id: str, until: dict[str, int]) -> None:
        """List these keys as a user's, each until its Unix time."""
        owned = keys.owned(user_id)
        pipe.zadd(owned, until)
        pipe.zremrangebyscore(owned, "-inf", int(time.time()))
        pipe.expire(owned, keys.OWNED_TTL_S)

    async def _conversations(self, redis: Redis, user_id: str) -> list[tuple[str, float]]:
        """Return the names of a user's conversations with their expiry times, the latest first."""
        now = int(time.time())
        owned = await redis.zrange(keys.owned(user_id), "+inf", now, desc=True, withscores=True, byscore=True)
        listed = cast(list[tuple[bytes, float]], owned)
        named = [(keys.conversation_of(user_id, key.decode()), until) for key, until in listed]
        return [(name, until) for name, until in named if name is not None]

    async def _not_yet_in(self, key: str, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages that an earlier, unanswered append did not store."""
        raw = await self._client.call(lambda redis: redis.lrange(key, -UNSURE_WITHIN, -1))
        there = {message.message_id for message in keys.decode_messages(raw)}
        return tuple(message for message in messages if message.message_id not in there)

    async def _read(self, redis: Redis, name: str) -> Any:
        """Return the value of a key, which may be a list; None when there is none."""
        if keys.holds_list(name):
            return [keys.readable(item) for item in cast(list[bytes], await redis.lrange(name, 0, -1))]
        raw = cast(bytes | None, await redis.get(name))
        return None if raw is None else keys.readable(raw)


@asynccontextmanager
async def following_changes(pubsub: PubSub, memory: Memory) -> AsyncIterator[None]:
    """Call the observers of `memory` with what other processes change, until the block ends.

    Enter the block before pub/sub starts. Every change is published in the transaction that makes it, with the name of
    the process that made it. After a lost connection the context of every user with an observer here is read again: no
    change stays unnoticed.
    """
    reading: set[asyncio.Task[None]] = set()

    async def read(user_id: str) -> None:
        with suppress(MemoryUnavailable):  # Once Redis answers again, every context is read.
            memory.observers.call(user_id, await memory.user_context(user_id))

    def on_message(raw: bytes | None) -> None:
        users = memory.observers.users
        if raw is not None:
            origin, _, user_id = raw.decode(errors="replace").partition(" ")
            users = users & {user_id} if origin != memory.origin else frozenset()
        for user_id in users:
            start_among(reading, "context change", read(user_id))

    pubsub.subscribe(keys.CHANGES, on_message)
    try:
        yield
    finally:
        await cancel_all(reading)


class ContextObservers:
    """The observers of this process to users' contexts. They are called after a write, from its task."""

    def __init__(self) -> None:
        self._observers: dict[str, list[ContextObserver]] = {}

    @property
    def users(self) -> frozenset[str]:
        """The users with observers."""
        return frozenset(self._observers)

    def add(self, user_id: str, observer: ContextObserver) -> Unwatch:
        """Call `observer` with every change, a deletion included, until the returned function is called."""
        self._observers.setdefault(user_id, []).append(observer)

        def remove() -> None:
            observers = self._observers.get(user_id, [])
            if observer in observers:
                observers.remove(observer)
            if not observers:
                self._observers.pop(user_id, None)

        return remove

    def call(self, user_id: str, context: Json) -> None:
        """Call the user's observers with the context as it is now; one that raises is counted and logged."""
        for observer in tuple(self._observers.get(user_id, ())):
            call_observer("user context", observer, context)


def decode_context(raw: bytes | None) -> Json:
    """Return a user's context. Raises `MemoryUnavailable` when it is no JSON object."""
    try:
        return {} if raw is None else decode_object(raw)
    except msgspec.DecodeError as error:
        raise MemoryUnavailable(
            "Memory holds a value that this server cannot read.",
            hint="Does another program write to the same Redis database? Give the server its own (redis://host:6379/1).",
        ) from error


MemoryJob = Callable[[Memory], Awaitable[Any]]
"""A job of the outbox: `lambda memory: memory.append_messages(...)`."""


async def briefly(work: Awaitable[T], default: T, *, within_s: float, warning: str = "") -> T:
    """Return the result of `work`, or after `within_s` seconds `default`, and then log `warning` if given."""
    try:
        async with asyncio.timeout(within_s):
            return await work
    except (PeerError, TimeoutError):
        if warning:
            log.warning("%s: memory does not answer", warning)
        return default
