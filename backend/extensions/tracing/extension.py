"""Traces in any OpenTelemetry collector, in LangSmith, or in both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from backend.extension import Extension, Ground, Opened
from backend.extensions.tracing.settings import TracingSettings
from backend.notifications.deletions import Deletion
from backend.runtime.extras import require

if TYPE_CHECKING:
    from backend.extensions.tracing.destinations import Destinations


@asynccontextmanager
async def open_destinations(ground: Ground) -> AsyncIterator[Opened]:
    """Open the destinations that the settings name. Waiting spans are sent at the end of the block."""
    settings = ground.settings.of(TracingSettings)
    if not (settings.otel_exporter_otlp_endpoint or settings.langsmith_tracing_enabled):
        yield Opened()
        return
    require("opentelemetry", extra="tracing", needed_by="Tracing")
    if settings.langsmith_tracing_enabled:
        require("langsmith", extra="langsmith", needed_by="LANGSMITH_TRACING_ENABLED")
    opened = await asyncio.to_thread(_opened, settings)  # in a thread, since the packages take a second to import
    try:
        yield _offered(opened, settings)
    finally:
        await opened.close()


def _opened(settings: TracingSettings) -> Destinations:
    from backend.extensions.tracing.destinations import Destinations

    return Destinations(settings)


def _offered(opened: Destinations, settings: TracingSettings) -> Opened:
    banner = ("Tracing", f"{opened}, {'with' if settings.trace_content else 'without'} what is said")
    traces = opened.langsmith
    if traces is None:
        return Opened(tracer=opened.tracer, banner=banner)

    async def delete(deletion: Deletion) -> None:
        await traces.delete_traces(deletion.user)

    return Opened(tracer=opened.tracer, banner=banner, user_data={"traces": traces}, deletions={"traces": delete})


EXTENSION = Extension(name="tracing", title="Tracing", settings=(TracingSettings,), open=open_destinations)
