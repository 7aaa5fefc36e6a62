"""What every route gets: the services, the edge's own parts, and the session it was asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from backend.http.auth import Access, Signatures
from backend.http.identity import Identity
from backend.http.limits import Buckets
from backend.http.services import Services
from backend.sessions.handles import Handle


@dataclass(frozen=True, slots=True)
class Context:
    """One application's parts. `now` is a steady clock in seconds."""

    services: Services
    signatures: Signatures
    access: Access
    offers: Buckets
    messages: Buckets
    attempts: Buckets
    """Wrong tokens for the admin page."""
    turns: Buckets
    reasoning: Buckets
    now: Callable[[], float]
    heartbeat_s: float


def context_of(connection: HTTPConnection) -> Context:
    """The context `build_app` has put into the application."""
    context: Context = connection.app.state.context
    return context


def identity_of(connection: HTTPConnection) -> Identity:
    """Who is asking."""
    identity: Identity = connection.state.identity
    return identity


def bearer(connection: HTTPConnection) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


async def own_session(request: Request, session_id: str) -> Handle:
    """The session in the path, for its owner or the bearer of its token. Raises `NotFound` for everyone else."""
    user = identity_of(request).user
    return await context_of(request).access.session(session_id, user=user, token=bearer(request))


async def own_session_or_query(connection: HTTPConnection, session_id: str) -> Handle:
    """The same where a browser can send no headers (EventSource, WebSocket): the token may stand in the query."""
    token = bearer(connection) or connection.query_params.get("token")
    return await context_of(connection).access.session(session_id, user=identity_of(connection).user, token=token)


Here = Annotated[Context, Depends(context_of)]
Caller = Annotated[Identity, Depends(identity_of)]
OwnSession = Annotated[Handle, Depends(own_session)]
StreamedSession = Annotated[Handle, Depends(own_session_or_query)]
