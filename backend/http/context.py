"""Routes get a context: the subsystems behind them, their own limits and signatures, and the caller's session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, cast, runtime_checkable

from fastapi import Depends, Request, WebSocket
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from backend.access.access import Access
from backend.access.budgets import Budgets
from backend.access.credentials import Identity
from backend.access.principal import Principal
from backend.access.rates import Buckets
from backend.access.signatures import Signatures
from backend.access.store import AccessStore
from backend.chat.chat import Chat
from backend.coordinator.service import CoordinatorService
from backend.errors import MemoryUnavailable
from backend.http.callers import PhoneCallers
from backend.http.client_secrets import ClientSecrets
from backend.http.page_streams import PageStreams
from backend.models.embedding import Embedder
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.service import ReminderService
from backend.observability.call_metrics import CallMetrics
from backend.reasoning.reasoner import Reasoner
from backend.sessions.handles import SessionHandle, SessionLocator
from backend.sessions.offers import AcceptOffer
from backend.sessions.registry import SessionRegistry, not_their_session
from backend.settings.rtc import IceServerEntry
from backend.settings.settings import Settings
from backend.storage.ledger.ledger import Ledger
from backend.storage.memory import Memory
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.service import TaskService
from backend.tools.confirmations import Confirmations
from backend.tools.registry import Registry
from backend.transports.base import Transport
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.ice_servers import IceServers

T = TypeVar("T")
SESSION_ID_LIMIT = 64
"""Characters of a session id that are looked at."""
FORGET_WITHIN_S = 2
"""Seconds memory may take to forget; it promises to fail within one."""


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of one application. `now` is a steady clock in seconds."""

    services: Services
    signatures: Signatures
    callers: PhoneCallers
    """Names those who call by telephone."""
    secrets: ClientSecrets
    """Makes client secrets of the Realtime protocol."""
    offers: Buckets
    messages: Buckets
    pictures: Buckets
    attempts: Buckets
    """Wrong tokens for the admin page."""
    turns: Buckets
    reasoning: Buckets
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
        session = await self.services.sessions.find(session_id[:SESSION_ID_LIMIT])
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


async def forget_conversation(services: Services, user_id: str, conversation_id: str) -> None:
    """Delete a conversation wherever it is stored."""
    for store in services.user_data.values():
        if isinstance(store, ConversationStore):
            await store.forget_conversation(user_id, conversation_id)
    await services.memory.forget_conversation(user_id, conversation_id)
    if services.ledger:
        await services.ledger.forget(user_id, conversation_id)


@asynccontextmanager
async def forgetting(failure: str) -> AsyncIterator[None]:
    """Give memory a moment to forget within the block. Raises `MemoryUnavailable`, with `failure`, when it does not."""
    try:
        async with asyncio.timeout(FORGET_WITHIN_S):
            yield
    except (MemoryUnavailable, TimeoutError):
        hint = "Delete it again in a moment; left alone, it expires within the hour."
        raise MemoryUnavailable(failure, hint=hint) from None


Here = Annotated[Context, Depends(context_of)]
Caller = Annotated[Identity, Depends(identity_of)]
OwnSession = Annotated[SessionHandle, Depends(own_session)]


class UserDataStore(Protocol):
    """A store of user data. Every method may raise a `VoiceError`, and may be repeated."""

    async def export(self, user_id: str, /) -> object:
        """Return everything stored of that user: records that msgspec encodes."""

    async def erase(self, user_id: str, /) -> None:
        """Erase everything stored of that user."""


@runtime_checkable
class ConversationStore(Protocol):
    """A store of user data that can delete what it has of one conversation."""

    async def forget_conversation(self, user_id: str, conversation_id: str, /) -> None:
        """Delete what is stored of that user's conversation. May raise a `VoiceError`, and may be repeated."""


@dataclass(frozen=True, slots=True)
class ResponderChoice:
    """A Responder as callers may choose it, by its provider's name."""

    provider: str
    name: str
    model: str
    voices: tuple[str, ...]
    """Empty: no voice can be chosen."""
    voice: str
    """The usual one."""
    speeds: tuple[float, float] | None
    """The slowest and the fastest speech; None: the speed cannot be chosen."""
    languages: tuple[str, ...]
    """The languages it speaks, by their English names; empty: many."""


@dataclass(frozen=True, slots=True)
class PageConfig:
    """The answer of `GET /api/config`. It holds no secret."""

    responder: dict[str, str | bool]
    """Its `name`, its `model`, whether it is `offline`, and whether it sees `pictures`."""
    memory: dict[str, str]
    """Its `label`, without the path of its file."""
    ice_servers: list[IceServerEntry]
    """Those that need no password. `POST /api/rtc/ice-servers` has the others."""
    thinkers: list[dict[str, str]]
    """The `domain`, `label`, `description` and `example` of each."""
    limits: dict[str, int]
    turn: bool = False
    """Whether `POST /api/rtc/ice-servers` gives a caller credentials for TURN."""
    fingerprint: bool = False
    """Whether the page may ask to recognise the browser by its fingerprint."""
    loading: list[str] = field(default_factory=list)
    """The parts of the local Responder that are being loaded: the first call waits for them."""
    responders: list[ResponderChoice] = field(default_factory=list)
    """The Responders that callers may choose from, the usual one first, each with what a call may choose of it."""
    endpointing: str | None = None
    """How long pauses may be where callers have not chosen; None: the provider decides about that."""
    interruptions: bool = True
    """Whether the voices of callers who have not chosen otherwise may interrupt replies."""
    extensions: dict[str, Any] = field(default_factory=dict)
    """The extensions that the page may show something of, by name, each with what it needs to know."""


async def _nowhere(user_id: str) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Services:
    """The subsystems a route may reach."""

    settings: Settings
    registry: SessionRegistry
    """The sessions of this process: where new ones begin."""
    sessions: SessionLocator
    """All sessions, wherever they are."""
    memory: Memory
    ledger: Ledger | None
    """Keeps conversations for longer than memory; None: nothing does."""
    budgets: Budgets
    chat: Chat
    embedder: Embedder
    accept_offer: AcceptOffer
    ice_config: Callable[[], IceConfig]
    """How a WebRTC connection is made now, for routes that answer an offer by themselves."""
    ice_servers: IceServers
    """The STUN and TURN servers of callers."""
    attach_socket: Callable[[WebSocket], Transport]
    """An accepted WebSocket → its transport."""
    page_config: Callable[[], PageConfig]
    readiness: Callable[[], Awaitable[dict[str, str]]]
    """Name of each check → `ok`, or what is wrong."""
    user_data: Mapping[str, UserDataStore]
    """Every store of user data by name, in the order in which they are erased."""
    frontend: Path
    """The folder of the page; when it is missing only the API is served."""
    tasks: TaskService
    model_calls: ModelCallLog
    coordinator: CoordinatorService
    notices: NotificationDispatcher
    pages: PageStreams
    """The event streams of open pages, outside of calls."""
    reminders: ReminderService
    confirmations: Confirmations
    """What users are asked to agree to."""
    toolbox: Registry
    tool_servers: Callable[[], dict[str, str]]
    """Name of each other MCP server whose tools are used → `ok`, or what is wrong."""
    endpoints: Mapping[str, ASGIApp]
    """The MCP endpoints, by path."""
    metrics: CallMetrics
    reasoner: Reasoner | None
    """Answers `POST /api/reasoning`."""
    access_store: AccessStore
    responders: Callable[[], dict[str, str]] = dict
    """Name of each provider of the Responder → `ok`, or what is known to be wrong."""
    delete_elsewhere: Callable[[str], Awaitable[list[str]]] = _nowhere
    """Has a user's data erased outside this server; returns the names of the places that are asked again later."""
    loading: Callable[[], list[str]] = list
    """The parts of the local Responder that are being loaded."""
    further_states: dict[str, Mapping[str, Callable[[], str]]] = field(default_factory=dict)
    """What extensions show in `/readyz`: a name → each of its parts → `ok`, or how it stands."""
    opened: Mapping[type[Any], Any] = field(default_factory=dict)
    """What extensions have brought, by type."""
    records: bool = False
    """Whether calls may be recorded, once their callers agree."""
    access: Access = field(default_factory=Access)
    """How callers without a credential are admitted."""
