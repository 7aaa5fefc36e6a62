"""Requests that cost something are admitted by the caller's budgets, and hold permits while they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import HTTPConnection, Request

from backend.access.addresses import is_from_here
from backend.access.payers import current_payer
from backend.access.permits import Permit, PermitKind
from backend.access.principal import Principal
from backend.access.usage import Payer, Resource
from backend.http.context import context_of, identity_of, principal_of

VISITORS = frozenset({"none", "cookie", "session"})
"""Credentials that anybody is given. On the server's own machine they may reach every tool, and prove nothing yet."""
KEY = "key "
"""How a principal's credential begins that an API key signed."""


def payer_of(connection: HTTPConnection) -> Payer:
    """Return who pays for a request: its principal, and their address until they have proven themselves.

    A caller on this machine without a key is counted, but never refused, unless BUDGETS__LIMIT_LOOPBACK says so.
    """
    settings = context_of(connection).services.settings.budgets
    principal = principal_of(connection)
    key = principal.credential.removeprefix(KEY) if principal.credential.startswith(KEY) else ""
    return Payer(
        principal.user,
        principal.address,
        principal.credential,
        key=key,
        proven=bool(key) or _is_proven(connection, principal, settings.proven_after_h * 3600),
        exempt=not key and is_from_here(connection) and not settings.limit_loopback,
        most_tokens=principal.budget,
    )


async def spend(request: Request, needs: frozenset[Resource]) -> Payer:
    """Admit a request after its body was read, and charge its bytes if it keeps any; its caller pays from now on.

    Raises `OverBudget`, or `CeilingReached` (503) when everybody's budget is used up.
    """
    payer = payer_of(request)
    current_payer.set(payer)
    wanted = Counter({Resource.KEPT_BYTES: len(await request.body())} if Resource.KEPT_BYTES in needs else {})
    await context_of(request).services.budgets.admit(payer, needs, wanted)
    return payer


async def admits_new_user(connection: HTTPConnection) -> bool:
    """Count one more new user of the caller's address, and return whether it may have that many."""
    return await context_of(connection).services.budgets.admits_new_user(payer_of(connection))


async def take_permit(connection: HTTPConnection, kind: PermitKind) -> Permit:
    """Take one of the caller's permits. Raises `TooMany`."""
    return await context_of(connection).services.budgets.permits.take(kind, payer_of(connection))


async def holding(permit: Permit, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Hold `permit` for as long as `stream` is read."""
    async with permit, aclosing(stream):
        async for piece in stream:
            yield piece


def _is_proven(connection: HTTPConnection, principal: Principal, after_s: float) -> bool:
    """Return whether the caller has signed in, or returned with a cookie of that age."""
    return principal.credential not in VISITORS or identity_of(connection).age_s >= after_s
