"""The Responder over Gemini's Live API, which has its own protocol. Thinkers get no model from this provider."""

from contextlib import AsyncExitStack
from functools import partial
from urllib.parse import urlsplit

from backend.extension import Extension
from backend.extensions.gemini.codec import CAPABILITIES
from backend.extensions.gemini.responder import connect_gemini, probe_gemini
from backend.extensions.gemini.settings import GeminiSettings
from backend.responders.failover import Provider, ResponderInfo
from backend.responders.opening import ApiEndpoint, OpenedProvider, required_key
from backend.settings.settings import Settings


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError` if its settings are incomplete."""
    gemini = settings.of(GeminiSettings)
    key = required_key("gemini", gemini.api_key, "GEMINI__API_KEY")
    about = ResponderInfo("Gemini Live API", gemini.model, offline=False)
    at = f" at {urlsplit(gemini.url).netloc}"
    connect, probe = partial(connect_gemini, gemini), partial(probe_gemini, gemini)
    provider = Provider("gemini", about, connect, probe, CAPABILITIES, at, gemini.voice)
    return OpenedProvider(provider, ApiEndpoint(gemini.url, key), has_models=False)


EXTENSION = Extension(name="gemini", title="Gemini", settings=(GeminiSettings,), responders={"gemini": open_provider})
