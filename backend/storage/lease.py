"""A lease: the right to do something alone, over all processes, which only the holder's token renews and releases.

The key holds the token and expires `ttl_s` seconds after it was last renewed, so that a holder that died loses it.
redis-py's own `Lock` does the same with Lua scripts, which the in-process fallback (fakeredis) cannot run without a
Lua interpreter of its own, and it cannot be taken over; a watched transaction needs neither.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from backend.errors import MemoryUnavailable
from backend.runtime.supervisor import supervised
from backend.storage.client import Pipe, RedisClient

RENEWALS = 4
"""Renewals within the life of a lease: three may fail before it is lost."""


class Lease:
    """One holder's claim to the key `name`. Every method may raise `MemoryUnavailable`."""

    def __init__(self, client: RedisClient, name: str, ttl_s: float, token: str | None = None) -> None:
        """`token` names the holder in the key; without one it is random."""
        self._client = client
        self._name = name
        self._ttl_ms = round(ttl_s * 1000)
        self.token = token or secrets.token_hex(8)

    def __repr__(self) -> str:
        return f"Lease({self.token}, {self._ttl_ms} ms)"  # the name may hold a user's id

    async def acquire(self) -> bool:
        """Take the lease, and return whether it is ours now; False while anybody holds it, this holder included."""
        taken = self._client.call(lambda redis: redis.set(self._name, self.token, nx=True, px=self._ttl_ms))
        return bool(await taken)

    async def take_over(self) -> None:
        """Take the lease from whoever holds it."""
        await self._client.call(lambda redis: redis.set(self._name, self.token, px=self._ttl_ms))

    async def renew(self) -> bool:
        """Hold the lease for another `ttl_s` seconds; False: it is not ours any more."""
        return await self._if_ours(lambda pipe: pipe.pexpire(self._name, self._ttl_ms))

    async def release(self) -> bool:
        """Give the lease back; False: it was not ours any more."""
        return await self._if_ours(lambda pipe: pipe.delete(self._name))

    async def keep_renewed(self) -> None:
        """Renew the lease in time, again and again, until it is lost or the task is cancelled."""
        while True:
            await asyncio.sleep(self._ttl_ms / 1000 / RENEWALS)
            with suppress(MemoryUnavailable):
                if not await self.renew():
                    return

    @asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """Hold the lease for the block, renewing it; the block gets False when somebody else holds it."""
        if not await self.acquire():
            yield False
            return
        renewing = supervised("lease renewal", self.keep_renewed)
        try:
            yield True
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            with suppress(MemoryUnavailable):
                await self.release()

    async def _if_ours(self, change: Callable[[Pipe], object]) -> bool:
        def write(pipe: Pipe, holder: bytes | None) -> bool:
            ours = holder == self.token.encode()
            if ours:
                change(pipe)
            return ours

        return await self._client.transact(self._name, read=lambda pipe: pipe.get(self._name), write=write)
