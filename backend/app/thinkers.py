"""The thinking side: the Thinkers with their tools, and the steps around every turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from backend.app.load_thinkers import build as build_thinkers
from backend.app.mcp import OtherServers, other_servers
from backend.app.middleware import open_pipeline
from backend.app.models import Minds
from backend.app.stores import Kept
from backend.middleware.pipeline import Pipeline
from backend.models.embedding import Embedder, EmbeddingsAPI
from backend.notifications.service import Reminding
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.settings import Settings
from backend.tasks.queries import Asking
from backend.thinkers.registry import Thinkers
from backend.tools.reminders import UserReminders
from backend.users.memories import Memories
from backend.users.notes import Notes
from backend.users.summaries import Summaries

SUMMARIES_WITHIN_S = 2.0
"""Seconds a server that ends gives the summaries of the calls it has just ended."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """A process's Thinkers."""

    thinkers: Thinkers
    pipeline: Pipeline
    others: OtherServers | None
    """The tools of other servers; None: none are named."""
    asking: Asking
    """A user's tasks, for the tool that asks for them: none until it is opened."""
    reminding: Reminding
    """A user's reminders, for the tool that sets them; who delivers them is opened later."""
    summaries: Summaries
    """What is made of conversations when they are over."""


@asynccontextmanager
async def open_thinking(
    settings: Settings, kept: Kept, minds: Minds, tracer: Tracer = NO_TRACER
) -> AsyncIterator[Thinking]:
    """All of it, ended with the block. Raises `BadPlugin`."""
    async with AsyncExitStack() as stack:
        enter, folders, services = stack.enter_async_context, settings.plugin_folders, _services(kept, minds)
        pipeline = await enter(
            open_pipeline(
                settings,
                model=minds.model,
                memory=kept.memory,
                http=minds.http,
                folders=folders,
                services=services,
            )
        )
        others, asking = await enter(other_servers(settings.mcp)), Asking()
        reminding = Reminding(settings.notifications, kept.opened.redis, kept.memory)
        thinkers = build_thinkers(
            settings,
            model=minds.model,
            memory=kept.memory,
            http=minds.http,
            folders=folders,
            pipeline=pipeline,
            tool_sources=[others] if others else [],
            modes_file=settings.modes_file,
            user_tasks=asking,
            services=services | {UserReminders: reminding},
        )
        summaries = Summaries(minds.model, settings.thinker_model, kept.memory, tracer)
        stack.push_async_callback(summaries.close, SUMMARIES_WITHIN_S)
        yield Thinking(thinkers, pipeline, others, asking, reminding, summaries)


def _services(kept: Kept, minds: Minds) -> dict[Any, Any]:
    """What steps and tools may ask for beside the usual; who needs vectors is told when there are none."""
    services: dict[Any, Any] = {Memories: kept.memories, Notes: kept.notes}
    if isinstance(minds.embedder, EmbeddingsAPI):  # the bundled model is no better at memories than words are
        services[Embedder] = minds.embedder
    return services
