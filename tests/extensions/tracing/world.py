"""Traces sent to a server of the test's, with an operator's settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from backend.extensions.tracing.destinations import Destinations
from backend.extensions.tracing.settings import TracingSettings
from backend.settings.settings import load_settings
from tests.extensions.tracing.collector import Collector
from tests.extensions.tracing.langsmith_api import KEY, LangSmith


def settings_for(*servers: Collector, **more: Any) -> TracingSettings:
    """The settings that send traces to these servers."""
    given = dict(more)
    for server in servers:
        if isinstance(server, LangSmith):
            given |= {"langsmith_tracing_enabled": True, "langsmith_api_key": KEY, "langsmith_project": "tests"}
            given |= {"langsmith_endpoint": server.url}
        else:
            given |= {"otel_exporter_otlp_endpoint": server.url, "otel_exporter_otlp_headers": "x-secret=a%20b"}
    return load_settings(_env_file=None, **given).of(TracingSettings)


@asynccontextmanager
async def traces_to(*servers: Collector, **more: Any) -> AsyncIterator[Destinations]:
    """The destinations; every span has been sent, or lost, after the block."""
    opened = Destinations(settings_for(*servers, **more))
    try:
        yield opened
    finally:
        await opened.close()
