"""Gemini's Live API, which has a protocol of its own. It serves no Thinkers: it has no chat completions here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from urllib.parse import urlsplit

from backend.errors import SetupError
from backend.extension import Extension
from backend.extensions.gemini.codec import CAPABILITIES
from backend.extensions.gemini.responder import GeminiEndpoint, connect_gemini, probe_gemini
from backend.extensions.gemini.settings import GeminiSettings
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.failover import Provider, ResponderInfo
from backend.responders.opening import ApiEndpoint, OpenedProvider
from backend.settings.settings import Settings


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError`."""
    gemini = settings.of(GeminiSettings)
    key = gemini.api_key.get_secret_value()
    if not key:
        raise SetupError("The Responder gemini needs a key.", hint="Set GEMINI__API_KEY, or leave gemini out.")
    endpoint = GeminiEndpoint(gemini.url, key, gemini.model, gemini.voice)

    async def connect(briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        return await connect_gemini(endpoint, briefing, history)

    about = ResponderInfo("Gemini Live API", gemini.model, offline=False)
    at = f" at {urlsplit(gemini.url).netloc}"
    provider = Provider("gemini", about, connect, partial(probe_gemini, endpoint), CAPABILITIES, at, gemini.voice)
    return OpenedProvider(provider, ApiEndpoint(gemini.url, key), has_models=False)


EXTENSION = Extension(name="gemini", title="Gemini", settings=(GeminiSettings,), responders={"gemini": open_provider})
