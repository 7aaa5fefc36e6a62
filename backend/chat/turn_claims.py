"""Claims let a conversation answer one message at a time, whichever process the message reaches.

    user:{id}:turns      hash: conversation → the process that answers, the message, and the end of the claim
    chat:stop            channel: turns to stop

A process renews its claim every few seconds; the claim of a dead process expires after `LEASE_S`. Every method except
`keep` is bounded in time, and none raises. While Redis does not answer, each process knows only its own turns: to
answer a message twice is better than not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from redis.asyncio import Redis

from backend.chat.turn import ChatRequest
from backend.errors import MemoryUnavailable
from backend.runtime.faults import decode_or_skip
from backend.runtime.supervisor import cancel_all
from backend.storage.client import Pipe, RedisStore
from backend.storage.memory import briefly
from backend.storage.pubsub import PubSub

T = TypeVar("T")
CHANNEL = "chat:stop"
LEASE_S = 10.0
"""Seconds a claim lasts after its last renewal."""
WITHIN_S = 0.5
"""Seconds one request to Redis may take."""
STOP_WITHIN_S = 1.0
"""Seconds another process may take to stop a turn before it counts as dead."""
LOOK_S = 0.05
"""Seconds between two checks whether the turn has stopped."""


class _Claim(msgspec.Struct, frozen=True, array_like=True):
    """The claim of a running turn. `until` is Unix time in seconds."""

    process: str
    message: str
    until: float


class _Unwanted(msgspec.Struct, frozen=True, array_like=True):
    """A message on the channel: a turn to stop."""

    user: str
    conversation: str


class TurnClaims(RedisStore):
    """The claims of the typed turns of all processes; `process` names this one."""

    def __init__(
        self, redis: Redis, process: str, pubsub: PubSub | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        """`pubsub` must not have started yet. Without it no other process can stop a turn of this one."""
        super().__init__(redis)
        self._process = process
        self._clock = clock
        self.on_stop: Callable[[str, str], None] = lambda user_id, conversation_id: None
        """Called with user and conversation when another process asks to stop a turn."""
        if pubsub:
            pubsub.subscribe(CHANNEL, self._on_message)

    async def claim(self, request: ChatRequest) -> bool:
        """Claim the conversation for this turn. Returns False while another process answers in it."""

        def write(pipe: Pipe, held: _Claim | None) -> bool:
            if held and self._is_foreign(held):
                return False
            self._write(pipe, request)
            return True

        return await briefly(self._change(request, write), True, within_s=WITHIN_S)

    @asynccontextmanager
    async def holding(self, request: ChatRequest) -> AsyncIterator[None]:
        """Renew the claim during the block, and release it at its end."""
        keeping = asyncio.create_task(self.keep(request), name="typed turn's claim")
        try:
            yield
        finally:
            await cancel_all([keeping])
            await self.release(request)

    async def keep(self, request: ChatRequest) -> None:
        """Renew the claim until cancelled, even after Redis was unavailable."""

        def write(pipe: Pipe, held: _Claim | None) -> None:
            if held and self._is_ours(held, request):
                self._write(pipe, request)

        while True:
            await asyncio.sleep(LEASE_S / 4)
            with contextlib.suppress(MemoryUnavailable):
                await self._change(request, write)

    async def release(self, request: ChatRequest) -> None:
        """Release the claim of this message's turn, if it has one."""

        def write(pipe: Pipe, held: _Claim | None) -> None:
            if held and self._is_ours(held, request):
                pipe.hdel(_key(request.user_id), request.conversation_id or "")

        await briefly(self._change(request, write), None, within_s=WITHIN_S)

    async def running(self, user_id: str) -> list[str]:
        """Return the user's conversations that have a turn in another process."""
        reading = self._client.call(lambda redis: redis.hgetall(_key(user_id)))
        raw = await briefly(reading, {}, within_s=WITHIN_S)
        claims = {name.decode(): _read(value) for name, value in raw.items()}
        return [name for name, claim in claims.items() if claim and self._is_foreign(claim)]

    async def stop(self, user_id: str, conversation_id: str | None) -> list[str]:
        """Stop a user's turns in other processes, or one conversation's, and wait; returns the conversations.

        A process that does not stop in time counts as dead and loses its claim.
        """
        wanted = [name for name in await self.running(user_id) if conversation_id in (None, name)]
        for name in wanted:
            await briefly(self._say_unwanted(user_id, name), None, within_s=WITHIN_S)
        ends_at, left = time.monotonic() + STOP_WITHIN_S, wanted
        while left and time.monotonic() < ends_at:
            await asyncio.sleep(LOOK_S)
            left = [name for name in await self.running(user_id) if name in wanted]
        if left:
            removing = self._client.call(lambda redis: redis.hdel(_key(user_id), *left))
            await briefly(removing, None, within_s=WITHIN_S)
        return wanted

    async def _say_unwanted(self, user_id: str, conversation_id: str) -> None:
        unwanted = msgspec.json.encode(_Unwanted(user_id, conversation_id))
        await self._client.call(lambda redis: redis.publish(CHANNEL, unwanted))

    async def _change(self, request: ChatRequest, write: Callable[[Pipe, _Claim | None], T]) -> T:
        key, conversation = _key(request.user_id), request.conversation_id or ""

        async def read(pipe: Pipe) -> _Claim | None:
            return _read(await pipe.hget(key, conversation))

        return await self._client.transact(key, read=read, write=write)

    def _write(self, pipe: Pipe, request: ChatRequest) -> None:
        claim = _Claim(self._process, request.message_id, self._clock() + LEASE_S)
        pipe.hset(_key(request.user_id), request.conversation_id or "", msgspec.json.encode(claim))
        pipe.expire(_key(request.user_id), round(6 * LEASE_S))

    def _is_ours(self, claim: _Claim, request: ChatRequest) -> bool:
        return (claim.process, claim.message) == (self._process, request.message_id)

    def _is_foreign(self, claim: _Claim) -> bool:
        return claim.process != self._process and claim.until > self._clock()

    def _on_message(self, raw: bytes | None) -> None:
        if raw is not None and (unwanted := decode_or_skip(CHANNEL, raw, _unwanted_decoder.decode)):
            self.on_stop(unwanted.user, unwanted.conversation)


def _read(raw: bytes | None) -> _Claim | None:
    return None if raw is None else decode_or_skip("typed turn", raw, _claim_decoder.decode)


def _key(user_id: str) -> str:
    return f"user:{user_id}:turns"


_claim_decoder = msgspec.json.Decoder(_Claim)
_unwanted_decoder = msgspec.json.Decoder(_Unwanted)
