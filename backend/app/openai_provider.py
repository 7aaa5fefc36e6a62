"""OpenAI, or another server of the Realtime API at OPENAI_BASE_URL."""

from __future__ import annotations

from contextlib import AsyncExitStack

from backend.errors import SetupError
from backend.responders.failover import ResponderInfo
from backend.responders.opening import ApiEndpoint, OpenedProvider, realtime_provider, voice_of
from backend.responders.realtime import RealtimeEndpoint
from backend.settings.settings import Settings


async def open_openai(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError`."""
    key = settings.provider.openai_api_key
    if key is None:
        raise SetupError("The Responder openai needs a key.", hint="Set OPENAI_API_KEY, or leave openai out.")
    api = ApiEndpoint(settings.provider.openai_base_url, key.get_secret_value())
    model = settings.realtime.model
    endpoint = RealtimeEndpoint(api.realtime_url, api.api_key, voice_of(settings, model))
    about = ResponderInfo("OpenAI Realtime API", model, offline=False)
    return OpenedProvider(realtime_provider("openai", about, endpoint, f" at {api.base_url}"), api)
