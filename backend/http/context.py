"""What every route gets: the services, the edge's own parts, and the session it was asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Depends, Request, WebSocket
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from backend.chat.chat import Chat
from backend.coordinator.service import CoordinatorService
from backend.http.auth import Access, Signatures
from backend.http.identity import Identity
from backend.http.limits import Buckets
from backend.http.page_streams import Pages
from backend.mcp.endpoint import Bearer
from backend.models.embedding import Embedder
from backend.notifications.notices import Notice
from backend.notifications.service import ReminderService
from backend.observability.call_metrics import Metrics
from backend.reasoning.reasoner import Reasoner
from backend.sessions.handles import Handle, Switchboard
from backend.sessions.offers import AcceptOffer
from backend.sessions.registry import Directory
from backend.settings.settings import Settings
from backend.storage.memory import Memory
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.task import Tasks
from backend.transports.base import Transport


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


@dataclass(frozen=True, slots=True)
class Keeper:
    """A place where something of a user is kept. Both may raise a `PeerError`."""

    name: str
    export: Callable[[str], Awaitable[Any]]
    """User id → all of it, as JSON data."""
    erase: Callable[[str], Awaitable[None]]
    """Leaves nothing of that user."""


async def _nothing(user_id: str) -> list[Notice]:
    return []


async def _unseen(user_id: str, notice_id: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a route may reach."""

    settings: Settings
    directory: Directory
    """The sessions of this process: where new ones begin."""
    sessions: Switchboard
    """All sessions, wherever they are."""
    memory: Memory
    chat: Chat
    """Typed turns."""
    embedder: Embedder
    accept_offer: AcceptOffer
    attach_socket: Callable[[WebSocket], Transport]
    """An accepted WebSocket → its transport."""
    page_config: Callable[[], dict[str, Any]]
    """What `GET /api/config` tells the page."""
    readiness: Callable[[], Awaitable[dict[str, str]]]
    """Name of each check → `ok`, or what is wrong."""
    keepers: tuple[Keeper, ...]
    """Everywhere something of a user is kept, in the order it is erased."""
    frontend: Path
    """The directory of the page; when it is missing only the API is served."""
    tasks: Tasks | None = None
    """Background tasks; None: this server has none."""
    model_calls: ModelCallLog | None = None
    """What models were asked for them."""
    coordinator: CoordinatorService | None = None
    """Thinks about what happened; None: nobody does."""
    notices: Callable[[str], Awaitable[list[Notice]]] = _nothing
    """User id → the notices that wait to be delivered, oldest first."""
    mark_seen: Callable[[str, str], Awaitable[bool]] = _unseen
    """User id and notice id of a notice that a page shows → whether it still waited."""
    pages: Pages | None = None
    """What pages are told outside of calls; None: nothing."""
    reminders: ReminderService | None = None
    """Reminders; None: this server has none."""
    bearers: Callable[[str], Bearer | None] = lambda token: None
    """A token → the program that shows it; None for a stranger's."""
    tools: Callable[[Literal["voice", "chat"]], dict[str, Any]] = lambda client: {"tools": [], "servers": {}}
    """The kind of client → what `GET /api/tools` tells it."""
    doors: Mapping[str, ASGIApp] = field(default_factory=dict)
    """Applications of their own, by the path they answer at."""
    metrics: Metrics = field(default_factory=Metrics)
    """The figures `/metrics` shows."""
    reasoner: Reasoner | None = None
    """Thinks tasks through."""
