"""An extension adds to the server what not every call needs. This module is the only seam for extensions.

An extension is a folder with an `extension.py` that holds one object:

    EXTENSION = Extension(name="tides", settings=(TidesSettings,), routes=(router,), grants={"/api/tides": Grant.CHAT})

The server's own extensions stand in `backend/extensions/`; those of others come from PLUGIN_FOLDERS or from the
entry-point group `responder_thinker.extensions`. An extension may import everything except `backend.app` and other
extensions. Nothing outside its folder names it, so the folder can be deleted.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx2
from fastapi import APIRouter
from redis.asyncio import Redis

from backend.access.credentials import OwnCredential, TokenSockets
from backend.access.principal import Grant
from backend.call.utterance_tap import Reader
from backend.http.context import Context
from backend.http.services import UserDataStore
from backend.media.echo import EchoGuard
from backend.media.vad import VadEngine
from backend.models.embedding import Embedder
from backend.notifications.deletions import DeletionTarget
from backend.observability.call_metrics import CallMetrics
from backend.observability.tracing import Tracer
from backend.responders.opening import OpenedProvider
from backend.sessions.handles import OpenLocator
from backend.sessions.recorder import OpenRecorder
from backend.settings.plugin import PluginSettings
from backend.settings.settings import Settings
from backend.storage.ledger.ledger import Ledger
from backend.storage.memory import Memory

NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ground:
    """The parts of the server that an extension can build on: those that are open before Thinkers and calls."""

    settings: Settings
    redis: Redis
    waiting: Redis
    """The Redis client for reads that wait: pub/sub and `BLOCK`."""
    memory: Memory
    ledger: Ledger
    http: httpx2.AsyncClient
    """The client for requests to web services; the server closes it."""
    retention_s: int | None
    """Seconds user data is kept after its last change; None: without limit."""
    serves: bool
    """Whether this process serves calls; a worker of background tasks does not."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The parts that an extension brings while it is open."""

    services: Mapping[type[Any], Any] = field(default_factory=dict)
    """The objects, by type, that the extension's own routes get by `Context.of`."""
    user_data: Mapping[str, UserDataStore] = field(default_factory=dict)
    """Its stores of user data by name, which export and erasure include."""
    deletions: Mapping[str, DeletionTarget] = field(default_factory=dict)
    """Places outside this server, by the name in an erasure, that are asked to erase until they have."""
    tracer: Tracer | None = None
    """Sends traces to a service; None: this extension sends none."""
    page: Mapping[str, Any] | None = field(default_factory=dict)
    """Its entry in `GET /api/config` under `extensions`; None: the page shows nothing of it."""
    reader: Reader | None = None
    """Classifies short utterances by their sound; None: this extension does not."""
    echo_guard: Callable[[], EchoGuard] | None = None
    """Makes the echo guard of each call; None: this extension has none."""
    recorder: OpenRecorder | None = None
    """Makes the recorder of each call; None: this extension records nothing."""
    locate: OpenLocator | None = None
    """Finds sessions in all processes; None: this extension does not."""
    banner: tuple[str, str] | None = None
    """A title and a line that the operator sees at the start."""
    watch: Callable[[CallMetrics], None] | None = None
    """Adds its numbers to `/metrics`."""
    serve: Callable[[Context], AbstractAsyncContextManager[tuple[str, str] | None]] | None = None
    """Serves another protocol than HTTP once the routes stand. Yields a line for the operator, like `banner`."""


OpenProvider = Callable[[Settings, AsyncExitStack], Awaitable[OpenedProvider]]
"""Opens a provider of the Responder, and puts what must be closed on the stack. Raises `SetupError`."""
OpenExtension = Callable[[Ground], AbstractAsyncContextManager[Opened]]
"""Opens an extension within a block. Raises `SetupError`."""


@dataclass(frozen=True, slots=True)
class ModuleCommand:
    """A command of `responder-thinker`: a module that is run by `python -m` with the arguments."""

    module: str
    help: str
    """The first line is shown in the list of commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """An extension, declared. Everything but the name may be left out."""

    name: str
    """The name of its folder."""
    title: str = ""
    """The heading of its settings; empty: its name."""
    settings: tuple[type[PluginSettings], ...] = ()
    """Its settings, read at the start. `Settings.of` returns them; tools and steps get them by type."""
    former: Mapping[str, str] = field(default_factory=dict)
    """Former setting → the setting that replaces it, or a sentence with advice."""
    open: OpenExtension | None = None
    """Called once Redis and the ledger are open, before Thinkers and calls."""
    responders: Mapping[str, OpenProvider] = field(default_factory=dict)
    """Its providers of the Responder, by their names in RESPONDERS."""
    fallback: str = ""
    """The name of its provider that needs no key, and serves where no provider is set."""
    share: Callable[[Settings, AsyncExitStack], Awaitable[Mapping[str, str]]] | None = None
    """Opens what the processes of one server (WORKERS) share where `fallback` serves, and puts it on the stack. Returns
    the environment variables by which they find it.
    """
    vad_engine: Callable[[Settings], type[VadEngine] | None] = lambda settings: None
    """Returns the engine that detects speech in place of Silero; None: it is switched off, or cannot run here."""
    embedder: Callable[[], Embedder | None] = lambda: None
    """Makes the embedder where no embedding model is set; None: it cannot be used here."""
    routes: tuple[APIRouter, ...] = ()
    grants: Mapping[str, Grant | None] = field(default_factory=dict)
    """Beginning of a path → the grant that a request needs; None: open to all."""
    token_sockets: TokenSockets = field(default_factory=dict)
    """Path of a WebSocket that takes the token in the address → the function that words a refusal."""
    credentials: tuple[OwnCredential, ...] = ()
    """The credentials that the extension makes and reads itself."""
    services: Callable[[Settings, httpx2.AsyncClient, Memory], Mapping[type[Any], Any]] = lambda *given: NOTHING
    """Makes the objects, by type, that its tools and steps are given."""
    tools: tuple[str, ...] = ()
    """The modules with its tools."""
    thinkers: tuple[str, ...] = ()
    """The modules with its Thinkers."""
    steps: tuple[str, ...] = ()
    """The modules with its steps."""
    commands: Mapping[str, ModuleCommand] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """Variables by which callers would act with the operator's credentials; refused where strangers can call."""
