"""Claims of typed turns: a conversation answers one message at a time, in whichever process the message arrives.

    user:{id}:turns      hash: conversation → the process that answers it, the message, and until when that holds
    chat:stop            channel: turns that are no longer wanted

A process renews its claim every few seconds; the claim of one that has died expires after `LEASE_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.runtime.faults import decode_or_skip
from backend.storage.client import Pipe, RedisStore
from backend.storage.pubsub import PubSub

T = TypeVar("T")
CHANNEL = "chat:stop"
LEASE_S = 10.0
"""Seconds a claim holds after it was last renewed."""


class _Claim(msgspec.Struct, frozen=True, array_like=True):
    """A turn under way. `until` is Unix time in seconds."""

    process: str
    message: str
    until: float


class _Unwanted(msgspec.Struct, frozen=True, array_like=True):
    """A message on the channel."""

    user: str
    conversation: str


class TurnClaims(RedisStore):
    """The claims of typed turns in Redis. `process` names this one; every method may raise `MemoryUnavailable`."""

    def __init__(
        self, redis: Redis, process: str, pubsub: PubSub | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        """`pubsub` must not have started yet; without it no other process can stop a turn of this one."""
        super().__init__(redis)
        self._process = process
        self._clock = clock
        self._listeners: list[Callable[[str, str], None]] = []
        if pubsub:
            pubsub.subscribe(CHANNEL, self._on_message)

    def __repr__(self) -> str:
        return f"TurnClaims({self._process})"

    async def claim(self, user_id: str, conversation_id: str, message_id: str) -> str:
        """Claim the conversation for this turn; return the message another process answers in it, or ""."""

        def write(pipe: Pipe, held: _Claim | None) -> str:
            if held and self._is_foreign(held):
                return held.message
            self._write(pipe, user_id, conversation_id, message_id)
            return ""

        return await self._change(user_id, conversation_id, write)

    async def keep(self, user_id: str, conversation_id: str, message_id: str) -> None:
        """Renew the claim until cancelled, also after Redis was away."""

        def write(pipe: Pipe, held: _Claim | None) -> None:
            if held and self._is_ours(held, message_id):
                self._write(pipe, user_id, conversation_id, message_id)

        while True:
            await asyncio.sleep(LEASE_S / 4)
            with contextlib.suppress(MemoryUnavailable):
                await self._change(user_id, conversation_id, write)

    async def release(self, user_id: str, conversation_id: str, message_id: str = "") -> None:
        """Release the claim of that message's turn; without a message, release any claim."""

        def write(pipe: Pipe, held: _Claim | None) -> None:
            if held and (not message_id or self._is_ours(held, message_id)):
                pipe.hdel(_key(user_id), conversation_id)

        await self._change(user_id, conversation_id, write)

    async def running(self, user_id: str) -> dict[str, str]:
        """Return the user's turns in other processes: conversation → message."""
        raw = await self._client.call(lambda redis: redis.hgetall(_key(user_id)))
        claims = {name.decode(): _read(value) for name, value in raw.items()}
        return {name: claim.message for name, claim in claims.items() if claim and self._is_foreign(claim)}

    async def stop(self, user_id: str, conversation_id: str) -> None:
        """Ask the other processes to stop that turn."""
        unwanted = msgspec.json.encode(_Unwanted(user_id, conversation_id))
        await self._client.call(lambda redis: redis.publish(CHANNEL, unwanted))

    def on_stop(self, listener: Callable[[str, str], None]) -> None:
        """Call `listener` with user and conversation when another process wants a turn stopped."""
        self._listeners.append(listener)

    async def _change(self, user_id: str, conversation_id: str, write: Callable[[Pipe, _Claim | None], T]) -> T:
        async def read(pipe: Pipe) -> _Claim | None:
            return _read(await pipe.hget(_key(user_id), conversation_id))

        return await self._client.transact(_key(user_id), read=read, write=write)

    def _write(self, pipe: Pipe, user_id: str, conversation_id: str, message_id: str) -> None:
        claim = _Claim(self._process, message_id, self._clock() + LEASE_S)
        pipe.hset(_key(user_id), conversation_id, msgspec.json.encode(claim))
        pipe.expire(_key(user_id), round(6 * LEASE_S))

    def _is_ours(self, claim: _Claim, message_id: str) -> bool:
        return (claim.process, claim.message) == (self._process, message_id)

    def _is_foreign(self, claim: _Claim) -> bool:
        return claim.process != self._process and claim.until > self._clock()

    def _on_message(self, raw: bytes | None) -> None:
        if raw is None:
            return
        if unwanted := decode_or_skip(CHANNEL, raw, _unwanted_decoder.decode):
            for listener in self._listeners:
                listener(unwanted.user, unwanted.conversation)


def _read(raw: bytes | None) -> _Claim | None:
    return None if raw is None else decode_or_skip("typed turn", raw, _claim_decoder.decode)


def _key(user_id: str) -> str:
    return f"user:{user_id}:turns"


_claim_decoder = msgspec.json.Decoder(_Claim)
_unwanted_decoder = msgspec.json.Decoder(_Unwanted)
