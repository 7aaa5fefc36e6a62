"""Start here: the composition root builds the server from its settings, one subsystem after the other.

    settings ─► foundation ─► tasks ─► calls ─► http ─► what extensions serve
                  stores ─► notifications ─► models ─► extensions ─► thinkers

    stores         Redis, and what is kept there   tasks   background tasks, the coordinator
    notifications  notices and reminders           calls   voice calls, and the other processes
    models         the text models                 http    typed turns, and the routes
    thinkers       Thinkers, tools, steps

Each subsystem is a module of this room. It gets the subsystems before it, and ends before they do.
"""

import gc
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from backend.access.access import access_summary, decide_access
from backend.app.calls import CallSubsystem, open_calls
from backend.app.extensions import installed
from backend.app.foundation import Foundation, open_foundation
from backend.app.http import open_http
from backend.app.mcp import mcp_summary
from backend.app.stores import TaskStore
from backend.app.tasks import open_tasks
from backend.call.prompts import load_clips
from backend.http.context import Context
from backend.http.page_streams import PageStreams
from backend.responders.warm_up import WarmUp
from backend.runtime.extras import how_to_install
from backend.sessions.registry import SessionRegistry
from backend.settings.settings import Settings
from backend.settings.tasks import BackgroundSettings
from backend.storage.embedded import open_memory

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """A running server, for the process that serves it."""

    asgi: FastAPI
    registry: SessionRegistry
    pages: PageStreams
    drain_s: float
    """Seconds calls may go on after the server was asked to end."""
    warm_up: WarmUp | None
    """The loading of the local Responder, where it is used."""
    banner: tuple[str, ...]
    """Lines for the operator: who is admitted, Responder, memory, Thinkers, speech detection."""

    async def end_calls(self) -> None:
        """Let calls go on for `drain_s` seconds, end the others with a goodbye, then close the event streams."""
        log.info("ending %s calls, after at most %s s", self.registry.live, self.drain_s)
        try:
            await self.registry.drain(self.drain_s)
            await self.registry.close("shutdown")
        finally:
            self.pages.close()


@asynccontextmanager
async def open_app(settings: Settings, host: str) -> AsyncIterator[App]:
    """Start every subsystem in order, to serve on `host`. They end in the reverse order. Raises `SetupError`."""
    credentials = installed(settings.agent.plugin_folders).credentials(settings)
    access = decide_access(settings, host, credentials)
    memory = settings.memory
    opened = await open_memory(
        memory.redis_url, memory.data_dir, local_url=memory.local_redis_url, user_ttl_s=memory.retention_s
    )
    async with (
        open_foundation(settings, opened, serves=True) as foundation,
        open_tasks(foundation) as tasks,
        open_calls(foundation, tasks) as calls,
        open_http(foundation, tasks, calls, access) as asgi,
        _serving(foundation, asgi.state.context) as lines,
    ):
        load_clips()
        gc.freeze()  # These objects live as long as the process: the collector need not visit them during calls.
        gc.enable()
        foundation.notifications.reminders.delivery.start()
        registry, warm_up = calls.services.registry, foundation.endpoints.warm_up
        banner = _banner(foundation, calls, host, lines)
        yield App(asgi, registry, calls.pages, settings.server.drain_s, warm_up, banner)


@asynccontextmanager
async def _serving(foundation: Foundation, here: Context) -> AsyncIterator[list[str]]:
    """Let extensions serve protocols other than HTTP, and yield their lines for the operator."""
    async with AsyncExitStack() as stack:
        opened = foundation.extensions.values()
        served = [await stack.enter_async_context(each.serve(here)) for each in opened if each.serve]
        lines = [*(each.banner for each in opened), *served]
        yield [f"{line[0]:<11}{line[1]}" for line in lines if line]


def _banner(foundation: Foundation, calls: CallSubsystem, host: str, further: Iterable[str]) -> tuple[str, ...]:
    """Return one line each for access, Responder, memory, Thinkers, speech detection, and other parts that are on."""
    settings, opened = foundation.settings, foundation.stores.opened
    lines = [
        f"Access     {access_summary(settings, host, foundation.installed.credentials(settings))}",
        f"Responder  {_responder(foundation)}",
        f"Memory     {opened.label}",
        *([f"           {opened.detail}"] if opened.detail else []),
        f"Thinkers   {', '.join(manifest.domain for manifest in foundation.thinkers.registry.manifests)}",
        f"Detector   {foundation.vad_engine.name if calls.finds_turns else 'the provider’s own'}",
        *further,
    ]
    if summary := mcp_summary(settings.mcp, keyed="key" in settings.access.access):
        lines.append(f"MCP        {summary}")
    if missing := foundation.installed.missing:
        lines.append(f"Extensions not there: {', '.join(missing)}; {how_to_install(*missing)}")
    lines += [f"Plugins    {fault}" for fault in foundation.installed.faults]
    lines += [f"Settings   {sentence}" for sentence in foundation.installed.slips()]
    if settings.rtc.rtc_force_host is None and Path("/.dockerenv").exists():
        lines.append("Network    in a container, set RTC_FORCE_HOST to the address callers reach")
    return (*lines, f"Background {_background(settings.background, foundation.task_store)}")


def _background(settings: BackgroundSettings, store: TaskStore) -> str:
    if not store.is_shared:
        return f"{settings.concurrency} tasks in parallel, in this process only: they end with it"
    if settings.worker == "inline":
        return f"{settings.concurrency} tasks in parallel here; more with `responder-thinker worker`"
    return "worker processes only: start some with `responder-thinker worker`"


def _responder(foundation: Foundation) -> str:
    providers = foundation.endpoints.providers.all
    return ", then ".join(f"{provider.name}: {provider.about.model}{provider.at}" for provider in providers)
