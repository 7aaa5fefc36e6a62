"""The data that access keeps in Redis for all processes: pending sign-ins, epochs of cookies, accounts, token buckets.

    sign-in:{hash}   a pending sign-in as JSON, until it is finished or ten minutes have passed
    epoch:{hash}     the number of times a user's cookies were revoked
    account:{hash}   list: the id under which the account's data is stored, then its visitor ids in other browsers
    bucket:{hash}    the Unix time at which a token bucket is full again, until then
    platforms:heir   the id of the API key that has the users of platforms with former ids; empty: none

An *account* is a user who signs in. A visitor who wants it becomes the account at its first sign-in: the data stays
under the visitor's id, which only a sign-in reaches from then on. What they take along from other browsers later stays
separate, but is exported and erased with the account's data. The token of an API key is an account, too, so that it
can be revoked.
"""

import hashlib
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable
from backend.storage.client import Pipe, RedisStore

EPOCH_LIFE_S = 410 * 86_400
"""Seconds an epoch is kept: longer than any cookie lives."""
CACHED_S = 5.0
"""Seconds another process may still accept a cookie that was revoked here."""
CACHED_LIMIT = 10_000
ACCOUNT_IDS = 20
"""The most ids of one account; beyond that the oldest visitor is dropped."""
TICKET_LIMIT = 128
"""The most characters of a ticket that are read."""
HEIR = "platforms:heir"
SCANNED = 500
"""Keys in one step of the search for users of platforms."""


class AccessStore(RedisStore):
    """Sign-ins, epochs and accounts."""

    def __init__(self, redis: Redis, now: Callable[[], float] = time.monotonic) -> None:
        """`now` gives seconds of a steady clock."""
        super().__init__(redis)
        self._now = now
        self._epochs: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """User → epoch, and the second until which the epoch counts as current."""
        self._heir: str | None = None

    async def put_ticket(self, content: bytes, life_s: int) -> str:
        """Return a new ticket for `content`. Raises `MemoryUnavailable`."""
        ticket = secrets.token_urlsafe(24)
        await self._client.call(lambda redis: redis.set(_sign_in(ticket), content, ex=life_s))
        return ticket

    async def take_ticket(self, ticket: str) -> bytes | None:
        """Return the content of `ticket`, once; None for a ticket that is unknown, used or expired.

        Raises `MemoryUnavailable`.
        """
        found: bytes | None = await self._client.call(lambda redis: redis.getdel(_sign_in(ticket[:TICKET_LIMIT])))
        return found

    async def bequeath(self, key: str) -> None:
        """Give the users of platforms with former ids, which name no key, to `key`, once for all processes.

        An outage leaves it for the next start.
        """
        redis, heir = self._client.redis, ""
        with suppress(RedisError):
            if await redis.exists(HEIR):
                return
            async for _ in redis.scan_iter("user:@*", count=SCANNED):
                heir = key
                break
            await redis.set(HEIR, heir, nx=True)

    async def heir(self) -> str:
        """Return the key that has the users of platforms with former ids; empty: none. Raises `MemoryUnavailable`."""
        if self._heir is None:
            found = await self._client.call(lambda redis: redis.get(HEIR))
            self._heir = found.decode() if found is not None else None
        return self._heir or ""

    async def change_bucket(self, name: str, change: Callable[[float], float], now: float) -> None:
        """Replace the Unix time at which a token bucket is full by the result of `change`.

        An exception of `change` passes through and leaves the bucket as it is. Raises `MemoryUnavailable`.
        """
        key = f"bucket:{_hashed(name)}"

        def write(pipe: Pipe, raw: bytes | None) -> None:
            full_at = change(float(raw or 0))
            pipe.set(key, repr(full_at), px=max(1, math.ceil((full_at - now) * 1000)))

        await self._client.transact(key, read=lambda pipe: pipe.get(key), write=write)

    async def epoch(self, user: str) -> int | None:
        """Return how often the user's cookies were revoked; None while Redis does not answer."""
        known, until = self._epochs.get(user, (None, 0.0))
        if known is not None and self._now() < until:
            return known
        try:
            known = int(await self._client.call(lambda redis: redis.get(_epoch(user))) or 0)
        except MemoryUnavailable:
            return None
        self._remember(user, known)
        return known

    async def is_revoked(self, user: str, epoch: int) -> bool | None:
        """Return whether what was signed in that epoch is void; None while Redis does not answer and it may be."""
        current = await self.epoch(user)
        if current is None and self._epochs.get(user, (epoch, 0.0))[0] == epoch:
            return None
        return current != epoch  # A revocation that was seen once stays, whether Redis answers or not.

    async def revoke(self, user: str) -> int:
        """Make all existing cookies of the user void, and return the new epoch. Raises `MemoryUnavailable`."""
        pipe = self._client.pipeline()
        pipe.incr(_epoch(user))
        pipe.expire(_epoch(user), EPOCH_LIFE_S)
        epoch = int((await self._client.execute(pipe))[0])
        self._remember(user, epoch)
        return epoch

    async def link(self, account: str, visitor: str = "", epoch: int = 0) -> str:
        """Return the id under which the account's data is stored: that of the `visitor` at its first sign-in.

        The visitor's cookies of `epoch` become void. A visitor with another epoch by now, or one that became another
        account, is not linked. Raises `MemoryUnavailable`.
        """
        key = _account(account)

        async def read(pipe: Pipe) -> tuple[list[bytes], int]:
            return await pipe.lrange(key, 0, -1), int(await pipe.get(_epoch(visitor)) or 0)

        def write(pipe: Pipe, found: tuple[list[bytes], int]) -> tuple[str, bool]:
            ids, epoch_now = found
            claimed = bool(visitor) and epoch == epoch_now
            new = [] if ids or claimed else [account]
            if claimed:
                new.append(visitor)
                pipe.set(_epoch(visitor), epoch + 1, ex=EPOCH_LIFE_S)
            if new:
                pipe.rpush(key, *new)
            if new and len(ids) >= ACCOUNT_IDS:
                pipe.lrem(key, 1, ids[1])
            pipe.expire(key, EPOCH_LIFE_S)
            return (ids[0].decode() if ids else new[0]), claimed

        data, claimed = await self._client.transact(key, _epoch(visitor), read=read, write=write)
        if claimed:
            self._remember(visitor, epoch + 1)
        return data

    async def ids_of(self, account: str) -> list[str]:
        """Return every id under which the account may have data, its own first. Raises `MemoryUnavailable`."""
        return [name.decode() for name in await self._client.call(lambda redis: redis.lrange(_account(account), 0, -1))]

    async def unlink(self, account: str) -> None:
        """Forget the ids of an account after its data was erased. Raises `MemoryUnavailable`."""
        await self._client.call(lambda redis: redis.delete(_account(account)))

    def _remember(self, user: str, epoch: int) -> None:
        self._epochs[user] = epoch, self._now() + CACHED_S
        self._epochs.move_to_end(user)
        if len(self._epochs) > CACHED_LIMIT:
            self._epochs.popitem(last=False)


def _sign_in(ticket: str) -> str:
    return f"sign-in:{_hashed(ticket)}"


def _account(account: str) -> str:
    return f"account:{_hashed(account)}"


def _epoch(user: str) -> str:
    return f"epoch:{_hashed(user)}"


def _hashed(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()[:32]
