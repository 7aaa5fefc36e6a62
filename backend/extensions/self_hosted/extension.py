"""A self-hosted server of the Realtime protocol. It serves no Thinkers: other settings name their models."""

from contextlib import AsyncExitStack

from backend.errors import SetupError
from backend.extension import Extension
from backend.extensions.self_hosted.codecs import CODECS
from backend.extensions.self_hosted.settings import SelfHostedSettings
from backend.responders.codec import Voice
from backend.responders.opening import ApiEndpoint, OpenedProvider, compatible_provider
from backend.settings.settings import Settings

NAMES = {"speech_to_speech": "speech-to-speech", "localai": "LocalAI", "vllm_omni": "vLLM-Omni"}


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError`."""
    own = settings.of(SelfHostedSettings)
    if not own.base_url:
        raise SetupError(
            "The Responder self_hosted has no address.",
            hint="Set SELF_HOSTED__BASE_URL, or leave self_hosted out of RESPONDERS.",
        )
    api = ApiEndpoint(own.base_url, own.api_key.get_secret_value())
    voice = Voice(own.model, own.voice, transcript_model="")
    return compatible_provider("self_hosted", NAMES[own.server], api, voice, CODECS[own.server])


EXTENSION = Extension(
    name="self_hosted",
    title="Self-hosted Realtime servers",
    settings=(SelfHostedSettings,),
    responders={"self_hosted": open_provider},
    former={"REALTIME_SERVER": "SELF_HOSTED__SERVER"},
)
