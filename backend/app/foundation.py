"""This module opens the subsystems that servers and worker processes share, and the metrics of a server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from backend.access.budgets import Budgets
from backend.app.budgets import open_budgets
from backend.app.endpoints import Endpoints, open_endpoints
from backend.app.extensions import Installed, installed, open_extensions
from backend.app.models import Models, open_models
from backend.app.notifications import Notifications, open_notifications
from backend.app.stores import Stores, TaskStore, open_stores, open_task_store
from backend.app.thinkers import ThinkerSubsystem, open_thinkers
from backend.call.utterance_tap import Reader
from backend.errors import SettingsError
from backend.extension import Ground, Opened
from backend.media.echo import EchoGuard
from backend.media.vad import VadEngine
from backend.observability.call_metrics import CallMetrics
from backend.observability.security_log import open_security_log
from backend.observability.tracing import NO_TRACER, Tracer
from backend.sessions.recorder import OpenRecorder
from backend.settings.settings import Settings
from backend.storage.embedded import OpenedMemory
from backend.thinker_service import thinker_service


@dataclass(frozen=True, slots=True)
class Foundation:
    """The subsystems below calls, typed turns and routes."""

    settings: Settings
    installed: Installed
    extensions: Mapping[str, Opened]
    """The parts of each extension, by name."""
    endpoints: Endpoints
    """The APIs of the Responder and the Thinkers."""
    stores: Stores
    notifications: Notifications
    models: Models
    budgets: Budgets
    task_store: TaskStore
    thinkers: ThinkerSubsystem
    tracer: Tracer
    metrics: CallMetrics
    """The numbers of `/metrics`; subsystems that open later add theirs."""
    vad_engine: type[VadEngine]
    """The engine that detects speech."""

    @property
    def reader(self) -> Reader | None:
        """Return the classifier of short utterances; None: no extension has one."""
        return next((each.reader for each in self.extensions.values() if each.reader), None)

    @property
    def open_echo_guard(self) -> Callable[[], EchoGuard]:
        """Return the maker of the echo guards of calls."""
        return next((each.echo_guard for each in self.extensions.values() if each.echo_guard), EchoGuard)

    @property
    def open_recorder(self) -> OpenRecorder | None:
        """Return the maker of the recorders of calls; None: no extension records."""
        return next((each.recorder for each in self.extensions.values() if each.recorder), None)


@asynccontextmanager
async def open_foundation(settings: Settings, opened: OpenedMemory, *, serves: bool) -> AsyncIterator[Foundation]:
    """Take over `opened`, and end everything after the block. A process that `serves` delivers reminders.

    Raises `SetupError`.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(open_security_log(settings.access.security_log))
        enter = stack.enter_async_context
        stores = await enter(open_stores(opened, settings, serves=serves))
        notifications = await enter(
            open_notifications(
                settings.notifications,
                opened.redis,
                stores.pubsub,
                stores.memory,
                delivers=serves,
                retention_s=settings.memory.retention_s,
            )
        )
        having = installed(settings.agent.plugin_folders)
        for fault in having.faults:
            if isinstance(fault, SettingsError):
                raise fault
        endpoints = await open_endpoints(settings, stack, having)
        machine = f"{socket.gethostname()} {settings.memory.data_dir.resolve()}"
        budgets = await enter(open_budgets(settings.budgets, stores.opened.redis, machine))
        models = await enter(open_models(settings, endpoints, stores, budgets))
        ground = Ground(
            settings,
            opened.redis,
            opened.waiting,
            stores.memory,
            stores.ledger,
            models.http,
            settings.memory.retention_s,
            serves,
        )
        extensions = await enter(open_extensions(having, ground))
        tracer = next((each.tracer for each in extensions.values() if each.tracer), NO_TRACER)
        task_store = open_task_store(settings.background, opened, notifications.dispatcher, stores.pubsub)
        thinkers = await enter(
            open_thinkers(settings, stores, notifications, models, tracer, task_store.queries, endpoints.without_model)
        )
        shared = thinkers.registry.dependencies
        stack.enter_context(thinker_service.serving(replace(shared.agent, router=shared.router)))
        metrics = _open_metrics(stores, thinkers)
        notifications.metrics.register_in(metrics.registry)
        budgets.register_in(metrics.registry)
        models.metrics.register_in(metrics.registry)
        for each in extensions.values():
            if each.watch:
                each.watch(metrics)
        yield Foundation(
            settings,
            having,
            extensions,
            endpoints,
            stores,
            notifications,
            models,
            budgets,
            task_store,
            thinkers,
            tracer,
            metrics,
            having.vad_engine(settings),
        )


def _open_metrics(stores: Stores, thinkers: ThinkerSubsystem) -> CallMetrics:
    outbox, pipeline, summaries = stores.outbox, thinkers.pipeline, thinkers.summaries
    metrics = CallMetrics(manifest.domain for manifest in thinkers.registry.manifests)
    metrics.watch_queue("outbox", lambda: outbox.depth)
    metrics.watch_total("voice_outbox_dropped", "Memory writes given up.", lambda: outbox.dropped + outbox.failed)
    writer = stores.ledger.writer
    metrics.watch_queue("ledger", lambda: writer.depth)
    metrics.watch_total(
        "voice_ledger_dropped", "Entries of the ledger given up.", lambda: writer.dropped + writer.failed
    )
    metrics.watch_queue("summaries", lambda: summaries.depth)
    metrics.watch_queue("post_steps", lambda: pipeline.depth)
    pipeline.counts.register_in(metrics.registry)
    thinkers.dispatcher.cache.register_in(metrics.registry)
    return metrics
