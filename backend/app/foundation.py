"""Opens the subsystems that a server and a worker process have alike, and the metrics and traces of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.app.budgets import open_budgets
from backend.app.endpoints import Endpoints, open_endpoints
from backend.app.models import Models, open_models
from backend.app.notifications import Notifications, open_notifications
from backend.app.stores import Stores, TaskStore, open_stores, open_task_store, retention_s
from backend.app.thinkers import ThinkerSubsystem, open_thinkers
from backend.budgets.budgets import Budgets
from backend.observability.call_metrics import CallMetrics
from backend.observability.langsmith import LangSmithTracer
from backend.observability.security_log import open_security_log
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.settings import Settings
from backend.storage.embedded import OpenedMemory


@dataclass(frozen=True, slots=True)
class Foundation:
    """The subsystems below calls, typed turns and routes."""

    settings: Settings
    endpoints: Endpoints
    """The APIs that converse and answer."""
    stores: Stores
    notifications: Notifications
    models: Models
    budgets: Budgets
    task_store: TaskStore
    thinkers: ThinkerSubsystem
    tracer: Tracer
    metrics: CallMetrics
    """The numbers of `/metrics`; a subsystem opened later adds its own."""


@asynccontextmanager
async def open_foundation(settings: Settings, opened: OpenedMemory, *, serves: bool) -> AsyncIterator[Foundation]:
    """Take over `opened`, and end everything after the block; a process that serves delivers reminders and traces.

    Raises `SetupError`.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(open_security_log(settings.security_log))
        enter = stack.enter_async_context
        stores = await enter(open_stores(opened, settings, serves=serves))
        notifications = await enter(
            open_notifications(settings.notifications, opened.redis, stores.pubsub, stores.memory, delivers=serves)
        )
        endpoints = await open_endpoints(settings, stack)
        budgets = await enter(open_budgets(settings.budgets, stores.opened.redis, retention_s(settings)))
        models = await enter(open_models(settings, endpoints, stores, budgets))
        tracer = _open_tracer(settings, stack) if serves else NO_TRACER
        task_store = await enter(open_task_store(settings.background, opened, notifications.dispatcher))
        thinkers = await enter(open_thinkers(settings, stores, notifications, models, tracer, task_store.queries))
        metrics = _open_metrics(stores, thinkers, tracer)
        notifications.metrics.show_in(metrics.registry)
        budgets.show_in(metrics.registry)
        models.metrics.show_in(metrics.registry)
        yield Foundation(
            settings, endpoints, stores, notifications, models, budgets, task_store, thinkers, tracer, metrics
        )


def _open_tracer(settings: Settings, stack: AsyncExitStack) -> Tracer:
    """Return the destination of traces; what waits when `stack` ends is sent within a moment."""
    key = settings.langsmith_api_key
    if not settings.langsmith_tracing_enabled or key is None:
        return NO_TRACER
    tracer = LangSmithTracer(
        endpoint=settings.langsmith_endpoint,
        api_key=key.get_secret_value(),
        project=settings.langsmith_project,
        content=settings.trace_content,
    )
    tracer.exporter.start()
    stack.push_async_callback(tracer.close)
    return tracer


def _open_metrics(stores: Stores, thinkers: ThinkerSubsystem, tracer: Tracer) -> CallMetrics:
    outbox, pipeline, summaries = stores.outbox, thinkers.pipeline, thinkers.summaries
    metrics = CallMetrics(manifest.domain for manifest in thinkers.registry.manifests)
    metrics.watch_queue("outbox", lambda: outbox.depth)
    metrics.watch_total("voice_outbox_dropped", "Memory writes given up.", lambda: outbox.dropped + outbox.failed)
    writer = stores.ledger.writer
    metrics.watch_queue("ledger", lambda: writer.depth)
    metrics.watch_total("voice_ledger_dropped", "Entries of the ledger given up.", lambda: writer.dropped)
    metrics.watch_queue("summaries", lambda: summaries.depth)
    metrics.watch_queue("post_steps", lambda: pipeline.depth)
    pipeline.counts.show_in(metrics.registry)
    thinkers.dispatcher.cache.show_in(metrics.registry)
    if isinstance(tracer, LangSmithTracer):
        metrics.watch_queue("traces", lambda: tracer.exporter.depth)
        metrics.watch_total("voice_traces_dropped", "Spans of traces given up.", lambda: tracer.exporter.lost)
    return metrics
