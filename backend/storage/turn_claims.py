"""Which typed turns run in which process: so that a conversation answers one message at a time, wherever it is sent.

    user:{id}:turns      hash: conversation → the process that answers it, the message, and until when that holds
    chat:stop            channel: turns that are not wanted any more

A process says every few seconds that it still answers; one that has died is forgotten `LEASE_S` after it last did.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import WatchError

from backend.errors import MemoryUnavailable
from backend.storage.guard import Guard
from backend.storage.pubsub import Relay

CHANNEL = "chat:stop"
LEASE_S = 10.0
"""Seconds after which a turn counts as gone whose process has not been heard of."""


class Claim(msgspec.Struct, frozen=True, array_like=True):
    """A turn under way. `until` is Unix time in seconds."""

    process: str
    message: str
    until: float


class Unwanted(msgspec.Struct, frozen=True, array_like=True):
    """A message on the channel."""

    user: str
    conversation: str


class RedisTurns:
    """See `chat.peer_turns.Elsewhere`. `process` names this one; everything may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis, process: str, *, clock: Callable[[], float] = time.time) -> None:
        self._redis = redis
        self._process = process
        self._clock = clock
        self._guard = Guard()
        self._hearers: list[Callable[[str, str], None]] = []

    def __repr__(self) -> str:
        return f"RedisTurns({self._process})"

    def listen(self, relay: Relay) -> None:
        """Hear of unwanted turns. Before the relay begins."""
        relay.on(CHANNEL, self._heard)

    async def claim(self, user_id: str, conversation_id: str, message_id: str) -> str:
        """See `Elsewhere`."""
        held: str = await self._guard(lambda: self._claim(_key(user_id), conversation_id, message_id))
        return held

    async def keep(self, user_id: str, conversation_id: str, message_id: str) -> None:
        """See `Elsewhere`. While Redis is away it goes on trying."""
        while True:
            await asyncio.sleep(LEASE_S / 4)
            with contextlib.suppress(MemoryUnavailable):
                await self._guard(lambda: self._renew(_key(user_id), conversation_id, message_id))

    async def release(self, user_id: str, conversation_id: str, message_id: str = "") -> None:
        """See `Elsewhere`."""
        await self._guard(lambda: self._release(_key(user_id), conversation_id, message_id))

    async def running(self, user_id: str) -> dict[str, str]:
        """See `Elsewhere`."""
        raw = await self._guard(lambda: self._redis.hgetall(_key(user_id)))
        claims = {name.decode(): _read(value) for name, value in raw.items()}
        return {name: claim.message for name, claim in claims.items() if claim and self._holds(claim)}

    async def stop(self, user_id: str, conversation_id: str) -> None:
        """See `Elsewhere`."""
        unwanted = msgspec.json.encode(Unwanted(user_id, conversation_id))
        await self._guard(lambda: self._redis.publish(CHANNEL, unwanted))

    def on_stop(self, hear: Callable[[str, str], None]) -> None:
        """See `Elsewhere`."""
        self._hearers.append(hear)

    async def _claim(self, key: str, conversation: str, message: str) -> str:
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                await pipe.watch(key)
                held = _read(cast(bytes | None, await pipe.hget(key, conversation)))
                if held and self._holds(held):
                    return held.message
                pipe.multi()  # type: ignore[no-untyped-call]
                self._put(pipe, key, conversation, message)
                with contextlib.suppress(WatchError):
                    await pipe.execute()
                    return ""

    async def _renew(self, key: str, conversation: str, message: str) -> None:
        pipe = self._redis.pipeline(transaction=True)
        self._put(pipe, key, conversation, message)
        await pipe.execute()

    def _put(self, pipe: Any, key: str, conversation: str, message: str) -> None:
        claim = Claim(self._process, message, self._clock() + LEASE_S)
        pipe.hset(key, conversation, msgspec.json.encode(claim))
        pipe.expire(key, round(6 * LEASE_S))

    async def _release(self, key: str, conversation: str, message: str) -> None:
        async with self._redis.pipeline(transaction=True) as pipe:
            await pipe.watch(key)
            held = _read(cast(bytes | None, await pipe.hget(key, conversation)))
            if held is None or (message and (held.process, held.message) != (self._process, message)):
                return
            pipe.multi()  # type: ignore[no-untyped-call]
            pipe.hdel(key, conversation)
            with contextlib.suppress(WatchError):
                await pipe.execute()

    def _holds(self, claim: Claim) -> bool:
        """Whether another process has it, as far as is known."""
        return claim.process != self._process and claim.until > self._clock()

    def _heard(self, raw: bytes | None) -> None:
        if raw is None:
            return
        with contextlib.suppress(msgspec.DecodeError):
            unwanted = msgspec.json.decode(raw, type=Unwanted)
            for hear in self._hearers:
                hear(unwanted.user, unwanted.conversation)


def _read(raw: bytes | None) -> Claim | None:
    try:
        return None if raw is None else msgspec.json.decode(raw, type=Claim)
    except msgspec.DecodeError:
        return None


def _key(user_id: str) -> str:
    return f"user:{user_id}:turns"
