"""Opens the destinations of traces: any OpenTelemetry collector, LangSmith, both, or none."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

from backend.observability.call_metrics import CallMetrics
from backend.observability.tracing import NO_TRACER, Tracer
from backend.runtime.extras import require
from backend.settings.tracing import TracingSettings

if TYPE_CHECKING:
    from backend.observability.langsmith import LangSmithTraces
    from backend.observability.span_delivery import SpanDelivery


@dataclass(frozen=True, slots=True)
class Tracing:
    """The destinations of traces."""

    tracer: Tracer = NO_TRACER
    deliveries: Mapping[str, SpanDelivery] = field(default_factory=dict)
    """By destination: `otlp`, `langsmith`."""
    langsmith: LangSmithTraces | None = None
    """The traces at LangSmith, where users' are erased."""

    def show_in(self, metrics: CallMetrics) -> None:
        """Add the spans that wait and those that were lost, of all destinations together."""
        deliveries = self.deliveries.values()
        if deliveries:
            metrics.watch_queue("traces", lambda: sum(each.depth for each in deliveries))
            metrics.watch_total(
                "voice_traces_dropped", "Spans of traces given up.", lambda: sum(each.lost for each in deliveries)
            )


@asynccontextmanager
async def open_tracing(settings: TracingSettings) -> AsyncIterator[Tracing]:
    """Open the destinations that the settings name; what waits at the end of the block is sent within a moment."""
    if not (settings.otel_exporter_otlp_endpoint or settings.langsmith_tracing_enabled):
        yield Tracing()
        return
    tracing = await asyncio.to_thread(_opened, settings)  # in a thread, since the packages take a second to import
    try:
        yield tracing
    finally:
        await asyncio.gather(*(delivery.close() for delivery in tracing.deliveries.values()))


def _opened(settings: TracingSettings) -> Tracing:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from backend.observability.otel_spans import NAME, OtelTracer

    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # a delivery says itself what goes wrong, once
    resource = {
        "service.name": settings.otel_service_name,
        "service.version": version(NAME),
        "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
    }
    provider = TracerProvider(resource=Resource.create(resource), shutdown_on_exit=False)
    deliveries: dict[str, SpanDelivery] = {}
    if settings.otel_exporter_otlp_endpoint:
        deliveries["otlp"] = _otlp(settings)
    langsmith = _langsmith(settings) if settings.langsmith_tracing_enabled else None
    if langsmith:
        deliveries["langsmith"] = langsmith.delivery
    for delivery in deliveries.values():
        provider.add_span_processor(delivery)
    return Tracing(OtelTracer(provider, content=settings.trace_content), deliveries, langsmith)


def _otlp(settings: TracingSettings) -> SpanDelivery:
    require("opentelemetry.exporter", extra="tracing", needed_by="OTEL_EXPORTER_OTLP_ENDPOINT")
    from backend.observability.otlp import otlp_delivery

    headers = settings.otel_exporter_otlp_headers
    return otlp_delivery(settings.otel_exporter_otlp_endpoint or "", headers.get_secret_value() if headers else "")


def _langsmith(settings: TracingSettings) -> LangSmithTraces:
    require("langsmith", extra="langsmith", needed_by="LANGSMITH_TRACING_ENABLED")
    from backend.observability.langsmith import LangSmithTraces

    key = settings.langsmith_api_key
    assert key is not None  # the settings are checked
    return LangSmithTraces(
        endpoint=settings.langsmith_endpoint,
        api_key=key.get_secret_value(),
        project=settings.langsmith_project,
    )
