"""Puts together what the HTTP routes reach: every subsystem, and where a user's data is exported and erased."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fastapi import FastAPI

from backend.app.calls import CallSubsystem
from backend.app.demo import Demo
from backend.app.mcp import served_tools
from backend.app.models import Models
from backend.app.stores import Stores
from backend.app.tasks import TaskSubsystem
from backend.app.thinkers import ThinkerSubsystem
from backend.calendar.calendars import open_calendars
from backend.chat.chat import Chat
from backend.http.app import build_app
from backend.http.context import Services, UserDataStore
from backend.http.limits import Buckets
from backend.mcp.endpoint import Tokens
from backend.observability.call_metrics import CallMetrics
from backend.runtime.json_objects import Json
from backend.sessions.handles import SessionLocator
from backend.settings.settings import Settings
from backend.transports.websocket import WebSocketTransport

FRONTEND = Path(__file__).parent.parent.parent / "frontend"
ERASE_WITHIN_S = 3.0
"""Seconds a user's waiting writes may take before their data can be erased."""


@dataclass(frozen=True, slots=True)
class Subsystems:
    """Everything `main` has opened, for the HTTP routes."""

    stores: Stores
    models: Models
    thinkers: ThinkerSubsystem
    tasks: TaskSubsystem
    calls: CallSubsystem
    chat: Chat
    metrics: CallMetrics
    demo: Demo | None
    """The offline demonstration; None when the operator's API answers."""


@asynccontextmanager
async def open_http(settings: Settings, subsystems: Subsystems) -> AsyncIterator[FastAPI]:
    """Open the HTTP application; its MCP endpoints serve until the block ends."""
    stores, thinkers, calls = subsystems.stores, subsystems.thinkers, subsystems.calls
    notifications = subsystems.tasks.notifications
    toolbox, others = thinkers.registry.dependencies.toolbox, thinkers.others
    requests = Buckets(settings.mcp.per_minute, what="requests of this token")
    async with served_tools(
        settings.mcp,
        toolbox,
        settings.allowed_origins,
        rate_limit=lambda token: requests.take(token, time.monotonic()),
    ) as endpoints:
        services = Services(
            settings=settings,
            registry=calls.registry,
            sessions=calls.cluster or SessionLocator(calls.registry),
            memory=stores.memory,
            chat=subsystems.chat,
            embedder=subsystems.models.embedder,
            accept_offer=calls.accept_offer,
            attach_socket=WebSocketTransport,
            page_config=lambda: _page_config(settings, subsystems),
            readiness=lambda: _readiness(subsystems),
            tasks=subsystems.tasks.service,
            model_calls=subsystems.models.model_calls,
            user_data=user_data_stores(settings, subsystems),
            frontend=FRONTEND,
            notices=notifications.dispatcher.waiting,
            mark_seen=notifications.dispatcher.mark_seen,
            pages=calls.pages,
            reminders=notifications.reminders,
            bearers=Tokens(settings.mcp).bearer,
            coordinator=subsystems.tasks.coordinator,
            tools=lambda client: {"tools": toolbox.described(client), "servers": others.states() if others else {}},
            endpoints=endpoints,
            metrics=subsystems.metrics,
            reasoner=thinkers.registry.dependencies.reasoner,
        )
        yield build_app(services)


def user_data_stores(settings: Settings, subsystems: Subsystems) -> tuple[UserDataStore, ...]:
    """Return every place that holds user data, in the order of erasure: tasks at work before what they would write.

    A new store of user data adds a line here, so that it is exported and erased, too.
    """
    stores, tasks, cluster = subsystems.stores, subsystems.tasks, subsystems.calls.cluster
    notifications, calendars = tasks.notifications, open_calendars(settings, subsystems.models.http)
    return (
        _user_data("tasks", tasks.service),
        UserDataStore("memory", stores.memory.everything_of, lambda user_id: _erase_memory(subsystems, user_id)),
        _user_data("coordinator", tasks.coordinator),
        _user_data("reminders", notifications.reminders),
        _user_data("notices", notifications.notices),
        _user_data("memories", stores.memories),
        _user_data("notes", stores.notes),
        _user_data("calendar", calendars),
        _user_data("model attempts", subsystems.models.model_calls),
        *([_user_data("calls", cluster)] if cluster else []),
    )


class _ExportsAndErases(Protocol):
    async def export(self, user_id: str, /) -> Any: ...

    async def erase(self, user_id: str, /) -> None: ...


def _user_data(name: str, store: _ExportsAndErases) -> UserDataStore:
    return UserDataStore(name, store.export, store.erase)


async def _erase_memory(subsystems: Subsystems, user_id: str) -> None:
    """Erase memory after everything on its way there: else it would be written again."""
    await subsystems.chat.settle(user_id)
    await subsystems.thinkers.pipeline.forget(user_id)
    await subsystems.thinkers.summaries.forget(user_id)
    await subsystems.stores.outbox.settle(ERASE_WITHIN_S)
    await subsystems.stores.memory.forget_user(user_id)


def _page_config(settings: Settings, subsystems: Subsystems) -> Json:
    """The answer of `GET /api/config`. It holds no secret but what browsers need for TURN."""
    about = subsystems.calls.about
    return {
        "responder": {"name": about.responder, "model": about.model, "offline": about.offline},
        "memory": {"label": subsystems.stores.opened.label.partition(" (")[0]},  # without the path of its file
        "ice_servers": [server.model_dump(exclude_none=True) for server in settings.ice_servers],
        "thinkers": [
            {"domain": m.domain, "label": m.label, "description": m.description, "example": m.example}
            for m in subsystems.thinkers.registry.manifests
        ],
        "limits": {"session_max_minutes": settings.session_max_minutes},
    }


async def _readiness(subsystems: Subsystems) -> dict[str, str]:
    answers = await subsystems.stores.memory.ping()
    checks = {"memory": "ok" if answers else "Redis does not answer; calls go on without memory"}
    if subsystems.demo is not None and not subsystems.demo.running:
        checks["responder"] = "the offline demonstration is not running"
    else:
        checks["responder"] = subsystems.calls.responder.trouble or "ok"
    if subsystems.calls.registry.closing:
        checks["calls"] = "no new ones: the server is about to end"
    return checks
