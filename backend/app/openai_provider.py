"""OpenAI, or another server of the Realtime API at OPENAI_BASE_URL."""

from contextlib import AsyncExitStack

from backend.responders.failover import ResponderInfo
from backend.responders.opening import ApiEndpoint, OpenedProvider, realtime_provider, required_key, voice_of
from backend.responders.realtime import RealtimeEndpoint
from backend.settings.settings import Settings


async def open_openai(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError`."""
    key = required_key("openai", settings.provider.openai_api_key, "OPENAI_API_KEY")
    api = ApiEndpoint(settings.provider.openai_base_url, key)
    model = settings.realtime.model
    endpoint = RealtimeEndpoint(api.realtime_url, api.api_key, voice_of(settings, model))
    about = ResponderInfo("OpenAI Realtime API", model, offline=False)
    return OpenedProvider(realtime_provider("openai", about, endpoint, f" at {api.base_url}"), api)
