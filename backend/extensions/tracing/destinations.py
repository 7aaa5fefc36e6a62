"""The destinations of traces that the settings name, and the tracer that sends them spans.

OpenTelemetry takes half a second to import, so the extension imports this file only where traces are kept.
"""

from __future__ import annotations

import asyncio
import os
import socket
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.util.re import parse_env_headers

from backend.extensions.tracing.delivery import REQUEST_S, delivery_to, in_a_thread
from backend.extensions.tracing.settings import TracingSettings
from backend.extensions.tracing.spans import NAME, Further, OtelTracer

if TYPE_CHECKING:
    from backend.extensions.tracing.langsmith import LangSmithTraces

CLOSE_WITHIN_S = 2.0
"""Seconds in which waiting spans are sent at the end."""


class Destinations:
    """A collector, LangSmith, or both, until `close`."""

    def __init__(self, settings: TracingSettings) -> None:
        self._names: list[str] = []
        self._deliveries: list[SpanProcessor] = []
        self.langsmith: LangSmithTraces | None = None
        if endpoint := settings.otel_exporter_otlp_endpoint:
            headers = settings.otel_exporter_otlp_headers
            given = parse_env_headers(headers.get_secret_value(), liberal=True) if headers else None
            exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", headers=given, timeout=REQUEST_S)
            self._names.append(f"collector {endpoint}")
            self._deliveries.append(delivery_to(exporter))
        further: Further | None = None
        if settings.langsmith_tracing_enabled:
            from backend.extensions.tracing import langsmith  # takes half a second to import, and needs its own package

            further = langsmith.run_attributes
            self.langsmith = langsmith.LangSmithTraces(settings)
            self._names.append(f"LangSmith project {settings.langsmith_project}")
            self._deliveries.append(self.langsmith.delivery)
        provider = TracerProvider(resource=_resource(settings), shutdown_on_exit=False)
        for delivery in self._deliveries:
            provider.add_span_processor(delivery)
        self.tracer = OtelTracer(provider, content=settings.trace_content, further=further)
        """The tracer of all sent spans."""

    def __repr__(self) -> str:
        return ", ".join(self._names)

    async def close(self) -> None:
        """Send the waiting spans. Those not sent within `CLOSE_WITHIN_S` are lost."""
        await asyncio.gather(*(in_a_thread(each.shutdown, CLOSE_WITHIN_S) for each in self._deliveries))


def _resource(settings: TracingSettings) -> Resource:
    """Return the attributes of this process, which each span carries."""
    return Resource.create(
        {
            "service.name": settings.otel_service_name,
            "service.version": version(NAME),
            "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
        }
    )
