"""The subsystems that routes use, in groups, and the deletion of a conversation in all of them."""

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
"""Seconds memory may take to forget; it fails within one by itself."""


class UserDataStore(Protocol):
    """A store of user data. Every method may raise a `VoiceError`, and may be repeated."""

    async def export(self, user_id: str, /) -> object:
        """Return everything stored about that user, as records that msgspec encodes."""

    async def erase(self, user_id: str, /) -> None:
        """Erase everything stored about that user."""


@runtime_checkable
class ConversationStore(Protocol):
    """A store of user data that can delete a single conversation."""

    async def forget_conversation(self, user_id: str, conversation_id: str, /) -> None:
        """Delete the data of that user's conversation. May raise a `VoiceError`, and may be repeated."""


@dataclass(frozen=True, slots=True)
class ResponderChoice:
    """A Responder that callers may choose, by its provider's name."""

    provider: str
    name: str
    model: str
    voices: tuple[str, ...]
    """The voices to choose from; empty: the voice cannot be chosen."""
    voice: str
    """The default voice."""
    speeds: tuple[float, float] | None
    """The slowest and the fastest speed of speech; None: the speed cannot be chosen."""
    languages: tuple[str, ...]
    """The English names of the languages that it speaks; empty: many languages."""


@dataclass(frozen=True, slots=True)
class PageConfig:
    """The answer of `GET /api/config`. It holds no secret."""

    responder: dict[str, str | bool]
    """The Responder's `name` and `model`, whether it is `offline`, and whether it sees `pictures`."""
    memory: dict[str, str]
    """The memory's `label`, without the path of its file."""
    ice_servers: list[IceServerEntry]
    """The servers that need no password. `POST /api/rtc/ice-servers` returns the others."""
    thinkers: list[dict[str, str]]
    """The `domain`, `label`, `description` and `example` of each Thinker."""
    limits: dict[str, int]
    turn: bool = False
    """Whether `POST /api/rtc/ice-servers` gives callers credentials for TURN."""
    fingerprint: bool = False
    """Whether the server recognises browsers by their fingerprint."""
    loading: list[str] = field(default_factory=list)
    """The parts of the local Responder that still load; the first call waits for them."""
    responders: list[ResponderChoice] = field(default_factory=list)
    """The Responders that callers may choose from, the default first, each with its choices."""
    endpointing: str | None = None
    """The default endpointing of callers who have not chosen; None: the provider decides."""
    interruptions: bool = True
    """Whether a caller's voice interrupts replies by default."""
    extensions: dict[str, Any] = field(default_factory=dict)
    """The data that the page needs about extensions, by name."""


async def _nowhere(user_id: str) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class CallServices:
    """The calls of this server."""

    registry: SessionRegistry
    """The sessions of this process, where new ones begin."""
    sessions: SessionLocator
    """Finds sessions in all processes."""
    accept_offer: AcceptOffer
    ice_config: Callable[[], IceConfig]
    """Returns the current configuration of WebRTC connections, for routes that answer an offer."""
    ice_servers: IceServers
    """The STUN and TURN servers of callers."""
    attach_socket: Callable[[WebSocket], Transport]
    """Returns the transport of an accepted WebSocket."""
    records: bool = False
    """Whether calls may be recorded if their callers agree."""


@dataclass(frozen=True, slots=True)
class PeopleServices:
    """The services that decide who may do what, and how much."""

    access_store: AccessStore
    budgets: Budgets
    access: Access = field(default_factory=Access)
    """How callers without a credential are admitted."""


@dataclass(frozen=True, slots=True)
class DataServices:
    """The stores of user data."""

    memory: Memory
    ledger: Ledger | None
    """Keeps conversations longer than memory does; None: there is no ledger."""
    user_data: Mapping[str, UserDataStore]
    """Every store of user data by name, in the order in which they are erased."""
    delete_elsewhere: Callable[[str], Awaitable[list[str]]] = _nowhere
    """Asks places outside this server to erase a user's data; returns the names of those that will be asked again."""


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
    """The questions that users are asked to agree to."""


@dataclass(frozen=True, slots=True)
class NewsServices:
    """The services that reach users outside of answers."""

    notices: NotificationDispatcher
    reminders: ReminderService
    pages: PageStreams
    """The event streams of open pages, outside of calls."""


@dataclass(frozen=True, slots=True)
class StateServices:
    """The states of the server's parts. A state is `ok`, or says what is wrong."""

    readiness: Callable[[], Awaitable[dict[str, str]]]
    """The state of each check."""
    metrics: CallMetrics
    responders: Callable[[], dict[str, str]] = dict
    """The state of each provider of the Responder."""
    tool_servers: Callable[[], dict[str, str]] = dict
    """The state of each MCP server with tools for this one."""
    loading: Callable[[], list[str]] = list
    """The parts of the local Responder that still load."""
    further_states: dict[str, Mapping[str, Callable[[], str]]] = field(default_factory=dict)
    """The states that extensions show in `/readyz`: name → part → state."""


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
    """The folder of the page; if it is missing, only the API is served."""
    endpoints: Mapping[str, ASGIApp]
    """The MCP endpoints, by path."""
    opened: Mapping[type[Any], Any] = field(default_factory=dict)
    """The services of extensions, by type."""


async def forget_conversation(services: Services, user_id: str, conversation_id: str) -> None:
    """Delete a conversation from all stores."""
    for store in services.data.user_data.values():
        if isinstance(store, ConversationStore):
            await store.forget_conversation(user_id, conversation_id)
    await services.data.memory.forget_conversation(user_id, conversation_id)
    if services.data.ledger:
        await services.data.ledger.forget(user_id, conversation_id)


@asynccontextmanager
async def forgetting(failure: str) -> AsyncIterator[None]:
    """Limit the time of the block, in which memory forgets. Raises `MemoryUnavailable` with `failure` when it fails."""
    try:
        async with asyncio.timeout(FORGET_WITHIN_S):
            yield
    except (MemoryUnavailable, TimeoutError):
        hint = "Delete it again in a moment; left alone, it expires within the hour."
        raise MemoryUnavailable(failure, hint=hint) from None
