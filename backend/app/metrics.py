"""How this process does: its figures, its traces, and how busy it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from backend.app.stores import Kept
from backend.app.thinkers import Thinking
from backend.observability.call_metrics import Metrics
from backend.observability.langsmith import LangSmithTracer
from backend.observability.tracing import NO_TRACER, Tracer
from backend.sessions.load import Load, watch
from backend.settings.settings import Settings


def open_metrics(kept: Kept, thinking: Thinking, tracer: Tracer) -> Metrics:
    """The figures of `/metrics`. Who opens a further queue has it watched."""
    outbox, pipeline = kept.outbox, thinking.pipeline
    metrics = Metrics(manifest.domain for manifest in thinking.thinkers.manifests)
    metrics.watch_queue("outbox", lambda: outbox.depth)
    metrics.watch_losses(lambda: outbox.dropped + outbox.failed)
    metrics.watch_queue("summaries", lambda: thinking.summaries.depth)
    metrics.watch_queue("post_steps", lambda: pipeline.depth)
    pipeline.counts.show_in(metrics.registry)
    if isinstance(tracer, LangSmithTracer):
        metrics.watch_queue("traces", lambda: tracer.depth)
        metrics.watch_trace_losses(lambda: tracer.lost)
    return metrics


@asynccontextmanager
async def open_tracer(settings: Settings) -> AsyncIterator[Tracer]:
    """Where traces go; what waits at the end is sent within a moment."""
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
    tracer.begin()
    try:
        yield tracer
    finally:
        await tracer.close()


@asynccontextmanager
async def watched_load(settings: Settings) -> AsyncIterator[Load]:
    """How busy this process is, from now on."""
    load = Load(max_lag_ms=settings.admission_max_lag_ms, max_cpu_percent=settings.admission_max_cpu_percent)
    async with running(watch(load), "load watch"):
        yield load


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """A task that runs until the block ends."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
