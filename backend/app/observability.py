"""Opens the observability of a process: its metrics, its traces and its load."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from backend.app.stores import Stores
from backend.app.thinkers import ThinkerSubsystem
from backend.observability.call_metrics import CallMetrics
from backend.observability.langsmith import LangSmithTracer
from backend.observability.tracing import NO_TRACER, Tracer
from backend.runtime.supervisor import supervising
from backend.sessions.load import Load, watch
from backend.settings.settings import Settings


def open_metrics(stores: Stores, thinkers: ThinkerSubsystem, tracer: Tracer) -> CallMetrics:
    """Return the metrics of `/metrics`; a subsystem opened later adds its own queue."""
    outbox, pipeline, summaries = stores.outbox, thinkers.pipeline, thinkers.summaries
    metrics = CallMetrics(manifest.domain for manifest in thinkers.registry.manifests)
    metrics.watch_queue("outbox", lambda: outbox.depth)
    metrics.watch_total("voice_outbox_dropped", "Memory writes given up.", lambda: outbox.dropped + outbox.failed)
    metrics.watch_queue("summaries", lambda: summaries.depth)
    metrics.watch_queue("post_steps", lambda: pipeline.depth)
    pipeline.counts.show_in(metrics.registry)
    if isinstance(tracer, LangSmithTracer):
        metrics.watch_queue("traces", lambda: tracer.exporter.depth)
        metrics.watch_total("voice_traces_dropped", "Spans of traces given up.", lambda: tracer.exporter.lost)
    return metrics


@asynccontextmanager
async def open_tracer(settings: Settings) -> AsyncIterator[Tracer]:
    """Open the destination of traces; what waits at the end of the block is sent within a moment."""
    key = settings.langsmith_api_key
    if not settings.langsmith_tracing_enabled or key is None:
        yield NO_TRACER
        return
    tracer = LangSmithTracer(
        endpoint=settings.langsmith_endpoint,
        api_key=key.get_secret_value(),
        project=settings.langsmith_project,
        content=settings.trace_content,
    )
    tracer.exporter.start()
    try:
        yield tracer
    finally:
        await tracer.close()


@asynccontextmanager
async def open_load(settings: Settings) -> AsyncIterator[Load]:
    """Measure how busy this process is until the block ends."""
    load = Load(max_lag_ms=settings.admission_max_lag_ms, max_cpu_percent=settings.admission_max_cpu_percent)
    async with supervising("load watch", partial(watch, load)):
        yield load
