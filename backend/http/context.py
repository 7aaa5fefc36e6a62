"""Routes get a context: the subsystems behind them, their own limits and signatures, the caller, and who pays.

Requests that cost something are admitted by their billing subject's budgets, and hold permits while they run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from backend.access.addresses import is_from_here
from backend.access.billing import BillingSubject, current_billing
from backend.access.concurrency import Permit, PermitKind
from backend.access.credentials import Identity, Signatures
from backend.access.principal import Principal
from backend.access.rates import Buckets
from backend.access.usage import Resource
from backend.http.callers import Callers
from backend.http.services import Services
from backend.sessions.handles import SessionHandle
from backend.sessions.registry import not_their_session

T = TypeVar("T")
SESSION_ID_LIMIT = 64
"""Characters of a session id that are looked at."""
VISITORS = frozenset({"none", "cookie", "session"})
"""Credentials that all are given. On the server's own machine they may reach every tool, and prove nothing yet."""
KEY = "key "
"""How a principal's credential begins that an API key signed."""


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of one application. `now` is a steady clock in seconds."""

    services: Services
    signatures: Signatures
    callers: Callers
    offers: Buckets
    messages: Buckets
    pictures: Buckets
    attempts: Buckets
    """Wrong tokens for the admin page."""
    turns: Buckets
    reasoning: Buckets
    programs: Buckets
    """Requests to tools over MCP, for each token."""
    now: Callable[[], float]
    heartbeat_s: float

    def of(self, kind: type[T]) -> T:
        """Return what an extension has brought, by its type; for the routes of that extension."""
        return cast("T", self.services.opened[kind])

    async def session(
        self, session_id: str, caller: Identity, token: str | None = None, origin: str = ""
    ) -> SessionHandle:
        """Return the session, if the caller owns it, or their token or `token`, shown by a page of `origin`, opens it.

        Raises the one `NotFound` otherwise, and `MemoryUnavailable` when only another process could know it, and the
        way there is closed.
        """
        session = await self.services.calls.sessions.find(session_id[:SESSION_ID_LIMIT])
        opened = caller.opened or self.signatures.opened(token)
        if opened is not caller.opened and opened is not None and opened.origin not in ("", origin):
            opened = None
        if opened is not None and opened.session_id == session.id:
            return session
        if session.owner == caller.user and await _is_within(session, caller.principal):
            return session
        raise not_their_session()


async def _is_within(session: SessionHandle, principal: Principal) -> bool:
    """Return whether the principal may name the session's conversation."""
    return principal.conversation is None or principal.opens((await session.describe())["conversation_id"])


def context_of(connection: HTTPConnection) -> Context:
    """Return the context that `build_app` has put into the application."""
    context: Context = connection.app.state.context
    return context


def identity_of(connection: HTTPConnection) -> Identity:
    """Return the identity of the caller."""
    identity: Identity = connection.state.identity
    return identity


def principal_of(connection: HTTPConnection) -> Principal:
    """Return who makes the request, and what they may do."""
    return identity_of(connection).principal


async def own_session(request: Request, session_id: str) -> SessionHandle:
    """Return the session in the path, for its owner or the bearer of its token. Raises `NotFound` for everyone else."""
    return await context_of(request).session(session_id, identity_of(request))


Here = Annotated[Context, Depends(context_of)]
Caller = Annotated[Identity, Depends(identity_of)]
OwnSession = Annotated[SessionHandle, Depends(own_session)]


def billing_of(connection: HTTPConnection) -> BillingSubject:
    """Return who pays for a request: its principal, and their address until they have proven themselves.

    A caller on this machine without a key is counted, but never refused, unless BUDGETS__LIMIT_LOOPBACK says so.
    """
    settings = context_of(connection).services.settings.budgets
    principal = principal_of(connection)
    key = principal.credential.removeprefix(KEY) if principal.credential.startswith(KEY) else ""
    return BillingSubject(
        principal.user,
        principal.address,
        principal.credential,
        key=key,
        proven=bool(key) or _is_proven(connection, principal, settings.proven_after_h * 3600),
        exempt=not key and is_from_here(connection) and not settings.limit_loopback,
    )


async def spend(request: Request, needs: frozenset[Resource]) -> BillingSubject:
    """Admit a request after its body was read, and charge its bytes if it keeps any; its caller pays from now on.

    Raises `OverBudget`, or `CeilingReached` (503) when the server's own budget is used up.
    """
    billed = billing_of(request)
    current_billing.set(billed)
    wanted = Counter({Resource.KEPT_BYTES: len(await request.body())} if Resource.KEPT_BYTES in needs else {})
    await context_of(request).services.people.budgets.admit(billed, needs, wanted)
    return billed


async def admits_new_user(connection: HTTPConnection) -> bool:
    """Count one more new user of the caller's address, and return whether it may have that many."""
    return await context_of(connection).services.people.budgets.admits_new_user(billing_of(connection))


async def take_permit(connection: HTTPConnection, kind: PermitKind) -> Permit:
    """Take one of the caller's permits. Raises `TooMany`."""
    return await context_of(connection).services.people.budgets.concurrency.take(kind, billing_of(connection))


async def holding(permit: Permit, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Hold `permit` for as long as `stream` is read."""
    async with permit, aclosing(stream):
        async for piece in stream:
            yield piece


def _is_proven(connection: HTTPConnection, principal: Principal, after_s: float) -> bool:
    """Return whether the caller has signed in, or returned with a cookie of that age."""
    return principal.credential not in VISITORS or identity_of(connection).age_s >= after_s
