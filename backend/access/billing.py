"""Every piece of work has a billing subject, even if it runs later in another process.

Within a request, a call or a task, `current_billing` holds it, and asyncio tasks started there inherit it. Work that
runs without a request of its user (a task, a digest, a call placed by another process) looks it up by the user id.

    user:{id}:billing   the billing subject as JSON; kept for 400 days for proven users, for two days for others
"""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import msgspec
from redis.asyncio import Redis

from backend.access.usage import EVERYBODY, Subject, SubjectKind
from backend.runtime.faults import decode_or_skip
from backend.storage.client import RedisStore
from backend.storage.memory import briefly

KEEP_S = 2 * 86_400
KEEP_PROVEN_S = 400 * 86_400
"""Seconds a proven user's billing subject is kept: as long as browsers keep the cookie."""
CACHED = 10_000
"""The number of users for which this process remembers the billing subject."""
WITHIN_S = 0.5
"""Seconds to wait for Redis. After that the work is billed to the user as a new user without an address."""


class BillingSubject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The owner of the budgets that are charged."""

    user: str
    address: str = ""
    credential: str = ""
    """The credential of the `Principal`, for the security log."""
    key: str = ""
    """The id of the API key that signed the user's token; empty: none."""
    proven: bool = False
    """False: the user is new, and their address is charged, too."""
    exempt: bool = False
    """True: the user is counted, but never refused."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """All subjects that are charged."""
        charged = [Subject(SubjectKind.USER, _hashed(self.user)), EVERYBODY]
        if self.address and not self.proven:
            charged.insert(1, self.at_address)
        if self.key:
            charged.insert(1, Subject(SubjectKind.KEY, self.key))
        return tuple(charged)

    @property
    def at_address(self) -> Subject:
        """The address as a subject."""
        return Subject(SubjectKind.ADDRESS, _hashed(self.address))

    @property
    def with_address(self) -> tuple[Subject, ...]:
        """The user and the address: permits are limited for each."""
        user = Subject(SubjectKind.USER, _hashed(self.user))
        return (user, self.at_address) if self.address and not self.key else (user,)


current_billing: ContextVar[BillingSubject | None] = ContextVar("billing", default=None)
_decoder = msgspec.json.Decoder(BillingSubject)
_key = "user:{}:billing".format


class BillingSubjects(RedisStore):
    """The billing subjects of all users. Methods may raise `MemoryUnavailable` unless they say otherwise."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._noted: OrderedDict[str, BillingSubject] = OrderedDict()

    async def note(self, billed: BillingSubject) -> None:
        """Remember the billing subject of that user's work, and write it if it is new to this process."""
        if self._noted.get(billed.user) == billed:
            return
        keep_s = KEEP_PROVEN_S if billed.proven else KEEP_S
        await self._client.call(lambda redis: redis.set(_key(billed.user), msgspec.json.encode(billed), ex=keep_s))
        self._remember(billed)

    async def find(self, user_id: str) -> BillingSubject | None:
        """Return the billing subject of that user's work; None when it is not known."""
        if (noted := self._noted.get(user_id)) is not None:
            return noted
        raw = await self._client.call(lambda redis: redis.get(_key(user_id)))
        billed = None if raw is None else decode_or_skip("billing", raw, _decoder.decode)
        if billed is not None:
            self._remember(billed)
        return billed

    @asynccontextmanager
    async def billing_to(self, user_id: str) -> AsyncIterator[BillingSubject]:
        """Within the block, make the billing subject of that user's work the current one. Never raises."""
        billed = current_billing.get()
        if billed is None or billed.user != user_id:
            billed = await briefly(self.find(user_id), None, within_s=WITHIN_S) or BillingSubject(user_id)
        token = current_billing.set(billed)
        try:
            yield billed
        finally:
            current_billing.reset(token)

    async def export(self, user_id: str) -> BillingSubject | None:
        """Return what is stored about that user."""
        return await self.find(user_id)

    async def erase(self, user_id: str) -> None:
        """Erase what is stored about that user."""
        self._noted.pop(user_id, None)
        await self._client.call(lambda redis: redis.delete(_key(user_id)))

    def _remember(self, billed: BillingSubject) -> None:
        self._noted[billed.user] = billed
        self._noted.move_to_end(billed.user)
        if len(self._noted) > CACHED:
            self._noted.popitem(last=False)


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:20]
