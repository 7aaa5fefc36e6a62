"""Alibaba's Qwen-Omni-Realtime. It serves no Thinkers here: its chat completions are at another address."""

from contextlib import AsyncExitStack

from backend.extension import Extension
from backend.extensions.qwen.codec import QwenCodec
from backend.extensions.qwen.settings import QwenSettings
from backend.responders.codec import Voice
from backend.responders.opening import ApiEndpoint, OpenedProvider, compatible_provider, required_key
from backend.settings.settings import Settings


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError`."""
    qwen = settings.of(QwenSettings)
    key = required_key("qwen", qwen.api_key, "QWEN__API_KEY")
    voice = Voice(qwen.model, qwen.voice, transcript_model="")
    return compatible_provider("qwen", "Qwen-Omni-Realtime", ApiEndpoint(qwen.base_url, key), voice, QwenCodec)


EXTENSION = Extension(name="qwen", title="Qwen", settings=(QwenSettings,), responders={"qwen": open_provider})
