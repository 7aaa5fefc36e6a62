"""Each piece of work has a payer, also when it runs later in another process.

Within a request, a call or a task the payer is current: `current_payer`, which tasks begun in it inherit. What runs
without its user's request (a task, a digest, a call placed by another process) finds the payer by the user id.

    user:{id}:payer   the payer as JSON; kept for two days, and of proven users for 400
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import msgspec
from redis.asyncio import Redis

from backend.access.new_users import mark_key
from backend.access.usage import Payer
from backend.runtime.faults import decode_or_skip
from backend.storage.client import RedisStore
from backend.storage.memory import briefly

KEEP_S = 2 * 86_400
KEEP_PROVEN_S = 400 * 86_400
"""As long as browsers keep the cookie."""
CACHED = 10_000
"""Users with a payer that this process remembers."""
WITHIN_S = 0.5
"""Seconds Redis has to say who pays; after that the user pays, as somebody new without an address."""

current_payer: ContextVar[Payer | None] = ContextVar("payer", default=None)
_decoder = msgspec.json.Decoder(Payer)
_key = "user:{}:payer".format


class Payers(RedisStore):
    """The payers of all users. Methods may raise `MemoryUnavailable` unless they say otherwise."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._noted: OrderedDict[str, Payer] = OrderedDict()

    async def note(self, payer: Payer) -> None:
        """Remember who pays for that user's work; writes only what is new to this process."""
        if self._noted.get(payer.user) == payer:
            return
        keep_s = KEEP_PROVEN_S if payer.proven else KEEP_S
        await self._client.call(lambda redis: redis.set(_key(payer.user), msgspec.json.encode(payer), ex=keep_s))
        self._remember(payer)

    async def find(self, user_id: str) -> Payer | None:
        """Return who pays for that user's work; None when that is not known."""
        if (noted := self._noted.get(user_id)) is not None:
            return noted
        raw = await self._client.call(lambda redis: redis.get(_key(user_id)))
        payer = None if raw is None else decode_or_skip("payer", raw, _decoder.decode)
        if payer is not None:
            self._remember(payer)
        return payer

    @asynccontextmanager
    async def paying_for(self, user_id: str) -> AsyncIterator[Payer]:
        """Make the payer of that user's work current within the block. Never raises."""
        payer = current_payer.get()
        if payer is None or payer.user != user_id:
            payer = await briefly(self.find(user_id), None, within_s=WITHIN_S) or Payer(user_id)
        token = current_payer.set(payer)
        try:
            yield payer
        finally:
            current_payer.reset(token)

    async def export(self, user_id: str) -> Payer | None:
        """Return what is stored of that user."""
        return await self.find(user_id)

    async def erase(self, user_id: str) -> None:
        """Erase what is stored of that user."""
        self._noted.pop(user_id, None)
        await self._client.call(lambda redis: redis.delete(_key(user_id), mark_key(user_id)))

    def _remember(self, payer: Payer) -> None:
        self._noted[payer.user] = payer
        self._noted.move_to_end(payer.user)
        if len(self._noted) > CACHED:
            self._noted.popitem(last=False)
