"""The composition root: builds the whole server from its settings, one side after the other.

    settings ─► kept ─► minds ─► thinking ─► work ─► calls ─► typed ─► edge ─► HTTP app

    kept      Redis, and what of users stands in it       work      background tasks, the coordinator, the teller
    minds     the models                                  calls     the line, the sessions, the other processes
    thinking  Thinkers, tools, steps                      typed     the chat

Each side stands in a file of `house/`, gets those before it, and ends before them.
"""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from backend.app.banner import start_up_lines
from backend.app.calls import open_calls
from backend.app.chat import open_typed
from backend.app.http_services import services_of
from backend.app.mcp import served_tools
from backend.app.metrics import open_metrics, open_tracer
from backend.app.models import open_minds, with_offline_child
from backend.app.stores import kept_for_s, open_kept
from backend.app.tasks import open_work
from backend.app.thinkers import open_thinking
from backend.call.clips import load_clips
from backend.http.app import build_app
from backend.http.limits import Buckets
from backend.http.page_streams import Pages
from backend.sessions.registry import Directory
from backend.settings.settings import Settings
from backend.storage.embedded import open_memory


@dataclass(frozen=True, slots=True)
class House:
    """A running server's parts, for whoever serves it."""

    app: FastAPI
    directory: Directory
    pages: Pages
    drain_s: float
    """Seconds calls may go on once the server is to end."""
    lines: tuple[str, ...]
    """What to tell the operator: Responder, memory, Thinkers, hearing."""


@asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    """Everything started, in order; everything ended, in the reverse. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        opened = await open_memory(settings.redis_url, settings.data_dir, user_ttl_s=kept_for_s(settings))
        kept = await enter(open_kept(opened, settings))
        settings, child = await with_offline_child(settings, stack)
        minds = await enter(open_minds(settings, kept))
        tracer = await enter(open_tracer(settings))
        thinking = await enter(open_thinking(settings, kept, minds, tracer))
        metrics = open_metrics(kept, thinking, tracer)
        work = await enter(open_work(settings, kept, minds, thinking, metrics, tracer))
        calls = await enter(open_calls(settings, kept, thinking, work, metrics, tracer))
        chat = await enter(open_typed(settings, kept, thinking, work, metrics, tracer))
        registry, knocks = (
            thinking.thinkers.desk.toolbox,
            Buckets(settings.mcp.per_minute, what="requests of this token"),
        )
        take = knocks.taker(time.monotonic)
        doors = await enter(served_tools(settings.mcp, registry, settings.allowed_origins, take=take))
        services = services_of(
            settings,
            child,
            kept=kept,
            minds=minds,
            thinking=thinking,
            work=work,
            calls=calls,
            chat=chat,
            doors=doors,
            metrics=metrics,
        )
        load_clips()
        app = build_app(services)
        gc.collect()
        gc.freeze()  # what start-up made lives as long as we do: keep the collector from looking at it in a call
        yield House(app, calls.directory, calls.pages, settings.drain_s, start_up_lines(settings, kept, thinking, work))
