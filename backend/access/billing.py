"""Each piece of work has a billing subject, also when it runs later in another process.

Within a request, a call or a task it is `current_billing`, which tasks begun there inherit. What runs without a request
of its user (a task, a digest, a call placed by another process) finds it by the user id.

    user:{id}:billing   the billing subject as JSON; kept for two days, and of proven users for 400
"""

from __future__ import annotations

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
"""As long as browsers keep the cookie."""
CACHED = 10_000
"""Users with a billing subject that this process remembers."""
WITHIN_S = 0.5
"""Seconds Redis has to say who pays; after that the user pays, as a new user without an address."""


class BillingSubject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The owner of the budgets that are charged."""

    user: str
    address: str = ""
    credential: str = ""
    """As `Principal` has it, for the security log."""
    key: str = ""
    """The id of the API key that signed their token."""
    proven: bool = False
    """False: they are new, and charged to their address, too."""
    exempt: bool = False
    """True: counted, but never refused."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Everyone who is charged."""
        charged = [Subject(SubjectKind.USER, _hashed(self.user)), EVERYBODY]
        if self.address and not self.proven:
            charged.insert(1, self.at_address)
        if self.key:
            charged.insert(1, Subject(SubjectKind.KEY, self.key))
        return tuple(charged)

    @property
    def at_address(self) -> Subject:
        """The address alone."""
        return Subject(SubjectKind.ADDRESS, _hashed(self.address))

    @property
    def with_address(self) -> tuple[Subject, ...]:
        """The user and the address, by which permits are limited."""
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
        """Remember who pays for that user's work; writes what is new to this process."""
        if self._noted.get(billed.user) == billed:
            return
        keep_s = KEEP_PROVEN_S if billed.proven else KEEP_S
        await self._client.call(lambda redis: redis.set(_key(billed.user), msgspec.json.encode(billed), ex=keep_s))
        self._remember(billed)

    async def find(self, user_id: str) -> BillingSubject | None:
        """Return who pays for that user's work; None when that is not known."""
        if (noted := self._noted.get(user_id)) is not None:
            return noted
        raw = await self._client.call(lambda redis: redis.get(_key(user_id)))
        billed = None if raw is None else decode_or_skip("billing", raw, _decoder.decode)
        if billed is not None:
            self._remember(billed)
        return billed

    @asynccontextmanager
    async def billing_to(self, user_id: str) -> AsyncIterator[BillingSubject]:
        """Make the billing subject of that user's work current within the block. Never raises."""
        billed = current_billing.get()
        if billed is None or billed.user != user_id:
            billed = await briefly(self.find(user_id), None, within_s=WITHIN_S) or BillingSubject(user_id)
        token = current_billing.set(billed)
        try:
            yield billed
        finally:
            current_billing.reset(token)

    async def export(self, user_id: str) -> BillingSubject | None:
        """Return what is stored of that user."""
        return await self.find(user_id)

    async def erase(self, user_id: str) -> None:
        """Erase what is stored of that user."""
        self._noted.pop(user_id, None)
        await self._client.call(lambda redis: redis.delete(_key(user_id)))

    def _remember(self, billed: BillingSubject) -> None:
        self._noted[billed.user] = billed
        self._noted.move_to_end(billed.user)
        if len(self._noted) > CACHED:
            self._noted.popitem(last=False)


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:20]
