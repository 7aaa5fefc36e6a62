"""xAI's voice agent API. It serves no Thinkers here: other settings name their models."""

from contextlib import AsyncExitStack

from backend.extension import Extension
from backend.extensions.xai.codec import XaiCodec
from backend.extensions.xai.settings import XaiSettings
from backend.responders.codec import Voice
from backend.responders.opening import ApiEndpoint, OpenedProvider, compatible_provider, required_key
from backend.settings.settings import Settings


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError`."""
    xai = settings.of(XaiSettings)
    key = required_key("xai", xai.api_key, "XAI__API_KEY")
    voice = Voice(xai.model, xai.voice, transcript_model="", effort=xai.effort)
    return compatible_provider("xai", "xAI voice agent API", ApiEndpoint(xai.base_url, key), voice, XaiCodec)


EXTENSION = Extension(name="xai", title="xAI", settings=(XaiSettings,), responders={"xai": open_provider})
