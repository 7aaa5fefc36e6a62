"""This module opens the Thinkers of a process: their tools and services, and the steps around every turn."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import httpx2

from backend.access.metered import MeteredEmbedder
from backend.agent.context import SourceMode
from backend.agent.session import Agent
from backend.agent.tool_router import ToolRouter
from backend.app.extensions import Installed, installed, with_working_plugins
from backend.app.mcp import other_servers
from backend.app.models import Models
from backend.app.notifications import Notifications, webhook_of
from backend.app.reload import reload_saved
from backend.app.stores import Stores
from backend.middleware.pipeline import NO_STEPS, Pipeline, discover
from backend.models.base import ChatModel
from backend.models.embedding import Embedder
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.notes import Notes
from backend.notifications.service import ReminderService
from backend.notifications.webhooks import WebhookClient
from backend.observability.tracing import NO_TRACER, Tracer
from backend.observability.work_metrics import WorkMetrics
from backend.reasoning.reasoner import Reasoner
from backend.runtime.supervisor import supervising
from backend.settings.settings import Settings
from backend.storage.memory import Memory
from backend.storage.outbox import Enqueue
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import ROUTE_TOOL, ThinkerRegistry
from backend.thinkers.run import ThinkerDependencies
from backend.tools import registry as tools
from backend.tools.background_tasks import UserTasks
from backend.tools.base import Clock
from backend.tools.confirmations import Confirmations
from backend.tools.runner import ToolSource
from backend.users.memories import Memories
from backend.users.modes import Modes, load_modes
from backend.users.summaries import Summaries
from backend.users.text_search import TextSearch
from backend.users.text_vectors import TextVectors

if TYPE_CHECKING:
    from backend.mcp.remote_servers import RemoteServers

log = logging.getLogger(__name__)

POST_STEPS_WITHIN_S = 2.0
"""Seconds an ending server waits for the post-steps of the last turns."""
SUMMARIES_WITHIN_S = 2.0
"""Seconds an ending server waits for the summaries of the calls it has just ended."""


@dataclass(frozen=True, slots=True)
class ThinkerSubsystem:
    """The Thinkers of a process, and the services of their tools."""

    dispatcher: ThinkerDispatcher
    pipeline: Pipeline
    others: RemoteServers | None
    """The tools of other MCP servers; None when the settings name none."""
    summaries: Summaries
    """Writes the summaries of finished conversations."""
    texts: TextSearch

    @property
    def registry(self) -> ThinkerRegistry:
        """The registry of all Thinkers."""
        return self.dispatcher.registry


@asynccontextmanager
async def open_thinkers(
    settings: Settings,
    stores: Stores,
    notifications: Notifications,
    models: Models,
    tracer: Tracer,
    user_tasks: UserTasks,
    without_model: frozenset[SourceMode],
) -> AsyncIterator[ThinkerSubsystem]:
    """Open the Thinkers, and end them after the block. No model answers in the source modes of `without_model`.

    Raises `BadPlugin`.
    """
    async with AsyncExitStack() as stack:
        services: dict[Any, Any] = {Memories: stores.memories}
        # The bundled model finds memories no better than words do.
        embedder = models.embedder if isinstance(models.embedder, MeteredEmbedder) else None
        vectors = TextVectors(stores.opened.redis, models.embedder.model, ttl_s=settings.memory.retention_s)
        services[TextSearch] = search = TextSearch(embedder, vectors)
        if embedder:
            services[Embedder] = embedder
        stack.push_async_callback(search.close)
        others = await stack.enter_async_context(other_servers(settings.mcp))
        for_tools = {
            UserTasks: user_tasks,
            ReminderService: notifications.reminders,
            Notes: notifications.notes,
            WorkMetrics: models.metrics,
        }
        for_steps = _step_services(settings, stores, models, stack) | {NotificationDispatcher: notifications.dispatcher}

        tiers = {"fast": settings.models.thinker_model, "advanced": settings.models.thinker_model_advanced}
        here = installed(settings.agent.plugin_folders)
        known = {**for_steps, **here.services(settings, models.http, stores.memory), **services}
        given = settings.agent.pipeline.options

        def build_pipeline(those: Installed) -> Pipeline:
            steps = discover(those.modules("steps"))
            whole = those is here and not here.faults  # otherwise options may be those of a step that is left out
            options = given if whole else {each.name: given.get(each.name, {}) for each in steps}
            return Pipeline(steps, known, options=options, models=tiers)

        pipeline = with_working_plugins(here, build_pipeline)
        stack.push_async_callback(pipeline.close, POST_STEPS_WITHIN_S)
        load = partial(
            build_thinkers,
            settings,
            model=models.model,
            memory=stores.memory,
            http=models.http,
            pipeline=pipeline,
            tool_sources=[others] if others else [],
            confirmations=stores.confirmations,
            enqueue=stores.outbox.enqueue,
            tracer=tracer,
            services=services | for_tools,
            without_model=without_model,
        )
        dispatcher = load()
        if settings.agent.reload:
            watch = partial(reload_saved, settings.agent.plugin_folders, lambda: load().registry, dispatcher.registry)
            await stack.enter_async_context(supervising("plugins", watch))
        summarizer = None if "chat" in without_model else models.model
        summaries = Summaries(summarizer, settings.models.thinker_model, stores.memory, tracer)
        stack.push_async_callback(summaries.close, SUMMARIES_WITHIN_S)
        yield ThinkerSubsystem(dispatcher, pipeline, others, summaries, search)


def build_thinkers(
    settings: Settings,
    *,
    model: ChatModel,
    memory: Memory,
    http: httpx2.AsyncClient,
    pipeline: Pipeline = NO_STEPS,
    tool_sources: Sequence[ToolSource] = (),
    services: Mapping[Any, Any] = MappingProxyType({}),
    confirmations: Confirmations | None = None,
    enqueue: Enqueue | None = None,
    tracer: Tracer = NO_TRACER,
    clock: Callable[[], float] = time.time,
    without_model: frozenset[SourceMode] = frozenset(),
) -> ThinkerDispatcher:
    """Return all Thinkers with their tools and services. No model answers in the source modes of `without_model`.

    `tool_sources` have the tools of other servers; `services` are further services for tools, by type. Without
    `confirmations`, tools that need the user's agreement never run; without `enqueue`, nothing is learned from answers.
    The caller keeps ownership of `model`, `memory` and `http`. Raises `BadPlugin`.
    """
    here = installed(settings.agent.plugin_folders)
    for fault in here.faults:
        log.error("a plugin cannot be used as it is: %s", fault)
    modes = load_modes(settings.models.modes_file, check_steps=pipeline.check_names)
    known: dict[Any, Any] = {
        httpx2.AsyncClient: http,
        Settings: settings,
        Memory: memory,
        Clock: Clock(clock),
        Modes: modes,
        **here.services(settings, http, memory),
        **services,
    }
    fast, advanced = settings.models.thinker_model, settings.models.thinker_model_advanced
    deadline_s = settings.agent.reasoning.deadline_s
    routing = settings.agent.router
    router = ToolRouter(model, routing.model or fast, above=routing.above)

    def build(those: Installed) -> ThinkerRegistry:
        toolbox = tools.discover(known, those.modules("tools"), tool_sources, confirmations)
        agent = Agent(model, toolbox, fast, clock=clock)
        reasoner = Reasoner(agent, planner=advanced, executor=fast, deadline_s=deadline_s, tracer=tracer)
        dependencies = ThinkerDependencies(
            agent, toolbox, memory, settings, pipeline, reasoner, clock, modes, router, enqueue, "chat" in without_model
        )
        return ThinkerRegistry.discover(dependencies, further=those.modules("thinkers"), without_model=without_model)

    registry = with_working_plugins(here, build)
    knows = registry.dependencies.toolbox.knows
    # A mode with an unknown tool is refused. Tools of other servers count as known: they may connect later.
    load_modes(settings.models.modes_file, has_tool=lambda name: name == ROUTE_TOOL or knows(name))
    return ThinkerDispatcher(registry)


def _step_services(settings: Settings, stores: Stores, models: Models, stack: AsyncExitStack) -> dict[Any, Any]:
    """Return the services of steps beside those of tools. They are closed with `stack`."""
    known: dict[Any, Any] = {
        httpx2.AsyncClient: models.http,
        ChatModel: models.model,
        Memory: stores.memory,
        Settings: settings,
        Clock: Clock(time.time),
    }
    if webhook := webhook_of(settings.agent.pipeline, "PIPELINE__WEBHOOK"):
        known[WebhookClient] = webhook
        stack.push_async_callback(webhook.close)
    return known
