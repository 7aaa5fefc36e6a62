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

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.runtime.faults import decode_or_skip
from backend.storage.client import Pipe, RedisClient
from backend.storage.pubsub import PubSub

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


class TurnClaims:
    """The claims of typed turns in Redis. `process` names this one; every method may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis, process: str, *, clock: Callable[[], float] = time.time) -> None:
        self._client = RedisClient(redis)
        self._process = process
        self._clock = clock
        self._listeners: list[Callable[[str, str], None]] = []

    def __repr__(self) -> str:
        return f"TurnClaims({self._process})"

    def listen(self, pubsub: PubSub) -> None:
        """Subscribe to unwanted turns. Called before pub/sub starts."""
        pubsub.subscribe(CHANNEL, self._on_message)

    async def claim(self, user_id: str, conversation_id: str, message_id: str) -> str:
        """Claim the conversation for this turn; return the message another process answers in it, or ""."""
        key = _key(user_id)

        def write(pipe: Pipe, raw: bytes | None) -> str:
            held = _read(raw)
            if held and self._holds(held):
                return held.message
            self._write_claim(pipe, key, conversation_id, message_id)
            return ""

        return await self._client.transact(key, read=lambda pipe: pipe.hget(key, conversation_id), write=write)

    async def keep(self, user_id: str, conversation_id: str, message_id: str) -> None:
        """Renew the claim until cancelled, also after Redis was away."""
        key = _key(user_id)

        def write(pipe: Pipe, raw: bytes | None) -> None:
            if self._is_ours(_read(raw), message_id):
                self._write_claim(pipe, key, conversation_id, message_id)

        while True:
            await asyncio.sleep(LEASE_S / 4)
            with contextlib.suppress(MemoryUnavailable):
                await self._client.transact(key, read=lambda pipe: pipe.hget(key, conversation_id), write=write)

    async def release(self, user_id: str, conversation_id: str, message_id: str = "") -> None:
        """Release the claim of that message's turn; without a message, of whichever has it."""
        key = _key(user_id)

        def write(pipe: Pipe, raw: bytes | None) -> None:
            held = _read(raw)
            if held and (not message_id or self._is_ours(held, message_id)):
                pipe.hdel(key, conversation_id)

        await self._client.transact(key, read=lambda pipe: pipe.hget(key, conversation_id), write=write)

    async def running(self, user_id: str) -> dict[str, str]:
        """Return the user's turns in other processes: conversation → message."""
        raw = await self._client.call(lambda redis: redis.hgetall(_key(user_id)))
        claims = {name.decode(): _read(value) for name, value in raw.items()}
        return {name: claim.message for name, claim in claims.items() if claim and self._holds(claim)}

    async def stop(self, user_id: str, conversation_id: str) -> None:
        """Ask the other processes to stop that turn."""
        unwanted = msgspec.json.encode(Unwanted(user_id, conversation_id))
        await self._client.call(lambda redis: redis.publish(CHANNEL, unwanted))

    def on_stop(self, listener: Callable[[str, str], None]) -> None:
        """Call `listener` with user and conversation when another process wants a turn stopped."""
        self._listeners.append(listener)

    def _write_claim(self, pipe: Pipe, key: str, conversation: str, message: str) -> None:
        claim = Claim(self._process, message, self._clock() + LEASE_S)
        pipe.hset(key, conversation, msgspec.json.encode(claim))
        pipe.expire(key, round(6 * LEASE_S))

    def _is_ours(self, claim: Claim | None, message: str) -> bool:
        return claim is not None and (claim.process, claim.message) == (self._process, message)

    def _holds(self, claim: Claim) -> bool:
        """Return whether another process holds the claim, as far as is known."""
        return claim.process != self._process and claim.until > self._clock()

    def _on_message(self, raw: bytes | None) -> None:
        if raw is None:
            return
        if unwanted := decode_or_skip(CHANNEL, raw, _unwanted_decoder.decode):
            for listener in self._listeners:
                listener(unwanted.user, unwanted.conversation)


def _read(raw: bytes | None) -> Claim | None:
    return None if raw is None else decode_or_skip("typed turn", raw, _claim_decoder.decode)


def _key(user_id: str) -> str:
    return f"user:{user_id}:turns"


_claim_decoder = msgspec.json.Decoder(Claim)
_unwanted_decoder = msgspec.json.Decoder(Unwanted)
