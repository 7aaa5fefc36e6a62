"""Start here: the composition root builds the whole server from its settings, one subsystem after the other.

    settings ─► stores ─► notifications ─► models ─► thinkers ─► tasks ─► calls ─► chat ─► http

    stores         Redis, and what stands in it    tasks   background tasks, the coordinator
    notifications  notices and reminders           calls   voice calls, and the other processes
    models         the text models                 chat    typed turns
    thinkers       Thinkers, tools, steps

Each subsystem is a module of this room. It gets the ones before it, and ends before them.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from backend.app.calls import open_calls
from backend.app.chat import open_chat
from backend.app.http import Subsystems, open_http
from backend.app.mcp import mcp_summary
from backend.app.models import open_models, with_demo
from backend.app.notifications import open_notifications
from backend.app.observability import open_metrics, open_tracer
from backend.app.stores import Stores, open_stores, retention_s
from backend.app.tasks import TaskSubsystem, open_task_store, open_tasks
from backend.app.thinkers import ThinkerSubsystem, open_thinkers
from backend.call.prompts import load_clips
from backend.http.page_streams import PageStreams
from backend.media.endpointing import choose_engine
from backend.sessions.registry import SessionRegistry
from backend.settings.settings import Settings
from backend.storage.embedded import open_memory


@dataclass(frozen=True, slots=True)
class App:
    """A running server, for the process that serves it."""

    asgi: FastAPI
    registry: SessionRegistry
    pages: PageStreams
    drain_s: float
    """Seconds calls may go on once the server is to end."""
    banner: tuple[str, ...]
    """Lines for the operator: Responder, memory, Thinkers, speech detection."""


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Start every subsystem in order; they end in the reverse order. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        opened = await open_memory(settings.redis_url, settings.data_dir, user_ttl_s=retention_s(settings))
        stores = await enter(open_stores(opened, settings))
        notifications = await enter(
            open_notifications(settings.notifications, opened.redis, stores.pubsub, stores.memory)
        )
        settings, demo = await with_demo(settings, stack)
        models = await enter(open_models(settings, stores))
        tracer = await enter(open_tracer(settings))
        task_store = await enter(open_task_store(settings.background, opened, notifications.dispatcher))
        thinkers = await enter(
            open_thinkers(settings, stores, notifications, models, tracer, user_tasks=task_store.queries)
        )
        metrics = open_metrics(stores, thinkers, tracer)
        notifications.metrics.show_in(metrics.registry)
        tasks = await enter(open_tasks(settings, stores, notifications, models, task_store, thinkers, metrics, tracer))
        calls = await enter(open_calls(settings, stores, thinkers, tasks, metrics, tracer))
        chat = await enter(open_chat(settings, stores, thinkers, tasks, metrics, tracer))
        subsystems = Subsystems(stores, models, thinkers, tasks, calls, chat, metrics, demo)
        asgi = await enter(open_http(settings, subsystems))
        load_clips()
        gc.collect()
        gc.freeze()  # what start-up made lives as long as the process: the collector need not look at it during calls
        banner = _banner(settings, stores, thinkers, tasks)
        yield App(asgi, calls.registry, calls.pages, settings.drain_s, banner)


def _banner(settings: Settings, stores: Stores, thinkers: ThinkerSubsystem, tasks: TaskSubsystem) -> tuple[str, ...]:
    """Return a line each for the Responder, memory, Thinkers, speech detection, and whatever else is on."""
    lines = [
        f"Responder  {_responder(settings)}",
        f"Memory     {stores.opened.label}",
        f"Thinkers   {', '.join(manifest.domain for manifest in thinkers.registry.manifests)}",
        f"Detector   {choose_engine(settings.vad.engine) if settings.vad.enabled else 'the provider’s semantic_vad'}",
    ]
    if settings.langsmith_tracing_enabled:
        words = "with what is said" if settings.trace_content else "without what is said"
        lines.append(f"Tracing    LangSmith project {settings.langsmith_project}, {words}")
    if summary := mcp_summary(settings.mcp):
        lines.append(f"MCP        {summary}")
    if stores.opened.detail:
        lines.append(f"           {stores.opened.detail}")
    if settings.rtc_force_host is None and Path("/.dockerenv").exists():
        lines.append("Network    in a container, set RTC_FORCE_HOST to the address callers reach")
    return (*lines, f"Background {tasks.banner}")


def _responder(settings: Settings) -> str:
    if settings.offline:
        return "offline demonstration: simple speech recognition and voice; set OPENAI_API_KEY for the real one"
    return f"{settings.realtime_model} at {settings.openai_base_url}"
