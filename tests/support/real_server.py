"""The whole server without a key, as its users start it; a stand-in on this machine serves the weather."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.testing.services.open_meteo import answering_today
from backend.testing.services.server import serving
from tests.support.running_server import running_server


@asynccontextmanager
async def real_server(**settings: str) -> AsyncIterator[str]:
    """Start the server and yield its address; `settings` are environment variables. Its exit must be clean."""
    async with serving(answering_today) as weather:
        places = {
            "OPEN_METEO_FORECAST_URL": f"{weather.url}/v1/forecast",
            "OPEN_METEO_GEOCODING_URL": f"{weather.url}/v1/search",
        }
        with running_server(None, **places | settings) as server:
            yield server.url.replace("127.0.0.1", "localhost")
        assert server.process.returncode in (0, -signal.SIGTERM), f"it exited with {server.process.returncode}"
