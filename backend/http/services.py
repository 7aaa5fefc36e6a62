"""The subsystems that routes reach, in groups; and how a conversation is forgotten in all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from fastapi import WebSocket
from starlette.types import ASGIApp

from backend.access.access import Access
from backend.access.budgets import Budgets
from backend.access.store import AccessStore
from backend.chat.chat import Chat
from backend.coordinator.service import CoordinatorService
from backend.errors import MemoryUnavailable
from backend.http.page_streams import PageStreams
from backend.models.embedding import Embedder
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.service import ReminderService
from backend.observability.call_metrics import CallMetrics
from backend.reasoning.reasoner import Reasoner
from backend.sessions.handles import SessionLocator
from backend.sessions.registry import AcceptOffer, SessionRegistry
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

FORGET_WITHIN_S = 2
"""Seconds memory may take to forget; it promises to fail within one."""


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
class CallServices:
    """The calls of this server."""

    registry: SessionRegistry
    """The sessions of this process: where new ones begin."""
    sessions: SessionLocator
    """All sessions, wherever they are."""
    accept_offer: AcceptOffer
    ice_config: Callable[[], IceConfig]
    """How a WebRTC connection is made now, for routes that answer an offer by themselves."""
    ice_servers: IceServers
    """The STUN and TURN servers of callers."""
    attach_socket: Callable[[WebSocket], Transport]
    """An accepted WebSocket → its transport."""
    records: bool = False
    """Whether calls may be recorded, once their callers agree."""


@dataclass(frozen=True, slots=True)
class PeopleServices:
    """Who may do what, and how much of it."""

    access_store: AccessStore
    budgets: Budgets
    access: Access = field(default_factory=Access)
    """How callers without a credential are admitted."""


@dataclass(frozen=True, slots=True)
class DataServices:
    """What is kept of users."""

    memory: Memory
    ledger: Ledger | None
    """Keeps conversations for longer than memory; None: nothing does."""
    user_data: Mapping[str, UserDataStore]
    """Every store of user data by name, in the order in which they are erased."""
    delete_elsewhere: Callable[[str], Awaitable[list[str]]] = _nowhere
    """Has a user's data erased outside this server; returns the names of the places that are asked again later."""


@dataclass(frozen=True, slots=True)
class WorkServices:
    """Typed turns, tasks, and the tools they use."""

    chat: Chat
    embedder: Embedder
    reasoner: Reasoner | None
    """Answers `POST /api/reasoning`."""
    tasks: TaskService
    model_calls: ModelCallLog
    coordinator: CoordinatorService
    toolbox: Registry
    confirmations: Confirmations
    """What users are asked to agree to."""


@dataclass(frozen=True, slots=True)
class NewsServices:
    """What reaches users outside of an answer."""

    notices: NotificationDispatcher
    reminders: ReminderService
    pages: PageStreams
    """The event streams of open pages, outside of calls."""


@dataclass(frozen=True, slots=True)
class StateServices:
    """How the parts of the server stand. A state is `ok`, or what is wrong."""

    readiness: Callable[[], Awaitable[dict[str, str]]]
    """The state of each check."""
    metrics: CallMetrics
    responders: Callable[[], dict[str, str]] = dict
    """The state of each provider of the Responder."""
    tool_servers: Callable[[], dict[str, str]] = dict
    """The state of each MCP server that lends its tools."""
    loading: Callable[[], list[str]] = list
    """The parts of the local Responder that are being loaded."""
    further_states: dict[str, Mapping[str, Callable[[], str]]] = field(default_factory=dict)
    """What extensions show in `/readyz`: a name → each of its parts → its state."""


@dataclass(frozen=True, slots=True)
class Services:
    """The subsystems a route may reach."""

    settings: Settings
    calls: CallServices
    people: PeopleServices
    data: DataServices
    work: WorkServices
    news: NewsServices
    state: StateServices
    page_config: Callable[[], PageConfig]
    frontend: Path
    """The folder of the page; when it is missing only the API is served."""
    endpoints: Mapping[str, ASGIApp]
    """The MCP endpoints, by path."""
    opened: Mapping[type[Any], Any] = field(default_factory=dict)
    """What extensions have brought, by type."""


async def forget_conversation(services: Services, user_id: str, conversation_id: str) -> None:
    """Delete a conversation wherever it is stored."""
    for store in services.data.user_data.values():
        if isinstance(store, ConversationStore):
            await store.forget_conversation(user_id, conversation_id)
    await services.data.memory.forget_conversation(user_id, conversation_id)
    if services.data.ledger:
        await services.data.ledger.forget(user_id, conversation_id)


@asynccontextmanager
async def forgetting(failure: str) -> AsyncIterator[None]:
    """Give memory a moment to forget within the block. Raises `MemoryUnavailable`, with `failure`, when it does not."""
    try:
        async with asyncio.timeout(FORGET_WITHIN_S):
            yield
    except (MemoryUnavailable, TimeoutError):
        hint = "Delete it again in a moment; left alone, it expires within the hour."
        raise MemoryUnavailable(failure, hint=hint) from None
