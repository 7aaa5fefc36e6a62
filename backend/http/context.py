"""The context gives routes the subsystems, their limits and signatures, the caller, and the billing subject.

Requests that cost something need room in the billing subject's budgets, and hold permits while they run.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from backend.access.addresses import is_from_here
from backend.access.billing import BillingSubject, current_billing
from backend.access.budgets import Refund
from backend.access.concurrency import Permit, PermitKind
from backend.access.credentials import Identity, Signatures
from backend.access.principal import Principal
from backend.access.rates import Buckets
from backend.access.usage import Resource
from backend.errors import MemoryUnavailable
from backend.http.callers import Callers
from backend.http.services import Services
from backend.sessions.handles import SessionHandle
from backend.sessions.registry import not_their_session

T = TypeVar("T")
SESSION_ID_LIMIT = 64
"""The most characters of a session id that are read."""
VISITORS = frozenset({"none", "cookie", "session"})
"""Credentials that every visitor gets. On the server's own machine they may reach every tool, but prove nothing."""


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
    """The bucket of wrong tokens for the admin page."""
    turns: Buckets
    reasoning: Buckets
    programs: Buckets
    """The bucket of requests over MCP, by token."""
    now: Callable[[], float]
    heartbeat_s: float

    def of(self, kind: type[T]) -> T:
        """Return an extension's service by its type, for the routes of that extension."""
        return cast("T", self.services.opened[kind])

    async def session(
        self, session_id: str, caller: Identity, token: str | None = None, origin: str = ""
    ) -> SessionHandle:
        """Return the session if the caller owns it, or if their token or `token`, shown by a page of `origin`, opens
        it.

        Raises `NotFound` otherwise, and `MemoryUnavailable` when only another process could know it and Redis does not
        answer.
        """
        session = await self.services.calls.sessions.find(session_id[:SESSION_ID_LIMIT])
        opened = caller.opened or self.signatures.opened(token)
        # A token that came beside the request's own must be for pages of the same origin.
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
    """Return the principal of the request."""
    return identity_of(connection).principal


def require_certainty(connection: HTTPConnection) -> None:
    """Guard what is kept longer than a call: recordings, past conversations, exports. Calls and turns go on.

    Raises `MemoryUnavailable` where it cannot be read if the cookie or the token was revoked.
    """
    if identity_of(connection).doubtful:
        raise MemoryUnavailable("It cannot be checked now if you are still signed in.", hint="Try again in a moment.")


async def own_session(request: Request, session_id: str) -> SessionHandle:
    """Return the session in the path, for its owner or the bearer of its token. Raises `NotFound` for everyone else."""
    return await context_of(request).session(session_id, identity_of(request))


Here = Annotated[Context, Depends(context_of)]
Caller = Annotated[Identity, Depends(identity_of)]
CERTAIN = [Depends(require_certainty)]
"""The dependencies of a route to what is kept."""
OwnSession = Annotated[SessionHandle, Depends(own_session)]


def billing_of(connection: HTTPConnection) -> BillingSubject:
    """Return the billing subject of a request: its principal, and the address until the user counts as proven.

    A caller on this machine without a key is counted, but not refused unless BUDGETS__LIMIT_LOOPBACK is set.
    """
    settings = context_of(connection).services.settings.budgets
    principal = principal_of(connection)
    # A caller on this machine is not limited, unless the operator wants that.
    return BillingSubject(
        principal.user,
        principal.address,
        principal.credential,
        key=principal.key,
        proven=bool(principal.key) or _is_proven(connection, principal, settings.proven_after_h * 3600),
        exempt=not principal.key and is_from_here(connection) and not settings.limit_loopback,
    )


async def spend(request: Request, needs: frozenset[Resource]) -> Refund:
    """Admit a request after its body was read, charge its bytes if it stores any, and bill further work to its caller.

    Returns what takes the charge back. Raises `OverBudget`, or `CeilingReached` (503) when the server's own budget is
    used up.
    """
    billed = billing_of(request)
    current_billing.set(billed)
    wanted = Counter({Resource.KEPT_BYTES: len(await request.body())} if Resource.KEPT_BYTES in needs else {})
    return await context_of(request).services.people.budgets.admit(billed, needs, wanted)


@asynccontextmanager
async def spending(request: Request, needs: frozenset[Resource]) -> AsyncIterator[None]:
    """Run the block at the caller's expense, like `spend`. If it fails, the charge is taken back."""
    refund = await spend(request, needs)
    try:
        yield
    except BaseException:
        refund()
        raise


async def admits_new_user(connection: HTTPConnection) -> bool:
    """Count one more new user at the caller's address, and return whether the address may have that many."""
    return await context_of(connection).services.people.budgets.admits_new_user(billing_of(connection))


async def take_permit(connection: HTTPConnection, kind: PermitKind) -> Permit:
    """Take one of the caller's permits. Raises `TooMany`."""
    return await context_of(connection).services.people.budgets.concurrency.take(kind, billing_of(connection))


async def holding(permit: Permit, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Hold `permit` while `stream` is read."""
    async with permit, aclosing(stream):
        async for piece in stream:
            yield piece


def _is_proven(connection: HTTPConnection, principal: Principal, after_s: float) -> bool:
    """Return whether the caller has signed in, or has a cookie that is older than `after_s` seconds."""
    return principal.credential not in VISITORS or identity_of(connection).age_s >= after_s
