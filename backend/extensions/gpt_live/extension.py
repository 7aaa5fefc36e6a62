"""OpenAI's GPT-Live: it has a protocol of its own, hears while it speaks, and hands work over by itself."""

from contextlib import AsyncExitStack
from functools import partial
from urllib.parse import urlsplit

from backend.extension import Extension
from backend.extensions.gpt_live.codec import CAPABILITIES
from backend.extensions.gpt_live.responder import connect_live, probe_live
from backend.extensions.gpt_live.settings import GptLiveSettings
from backend.responders.failover import Provider, ResponderInfo
from backend.responders.opening import ApiEndpoint, OpenedProvider, required_key
from backend.settings.settings import Settings


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError` if its settings are incomplete."""
    live = settings.of(GptLiveSettings)
    api_key = required_key("gpt_live", settings.provider.openai_api_key, "OPENAI_API_KEY")
    about = ResponderInfo("GPT-Live", live.model, offline=False)
    at = f" at {urlsplit(live.url).netloc}"
    connect, probe = partial(connect_live, live, api_key), partial(probe_live, live, api_key)
    provider = Provider("gpt_live", about, connect, probe, CAPABILITIES, at, live.voice)
    return OpenedProvider(provider, ApiEndpoint(settings.provider.openai_base_url, api_key))


EXTENSION = Extension(
    name="gpt_live", title="GPT-Live", settings=(GptLiveSettings,), responders={"gpt_live": open_provider}
)
