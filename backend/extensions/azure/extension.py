"""Azure OpenAI: the Realtime API at the customer's own address, where a deployment names the model.

Since the API's general availability the address is `wss://NAME.openai.azure.com/openai/v1/realtime?model=DEPLOYMENT`,
without an API version; a key goes into the `api-key` header, a token of Microsoft Entra into `Authorization`
(learn.microsoft.com, "Use the GPT Realtime API via WebSockets").
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack

from backend.errors import SetupError
from backend.extension import Extension
from backend.extensions.azure.entra import open_tokens
from backend.extensions.azure.settings import AzureOpenAISettings
from backend.responders.failover import ResponderInfo
from backend.responders.opening import ApiEndpoint, OpenedProvider, realtime_provider, voice_of
from backend.responders.realtime import RealtimeEndpoint
from backend.settings.settings import Settings

PATH = "/openai/v1"


async def open_provider(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. Raises `SetupError` if its settings are incomplete."""
    azure = settings.of(AzureOpenAISettings)
    key = azure.api_key.get_secret_value()
    tokens = await open_tokens(azure, stack)
    if not azure.endpoint or not azure.deployment or not (key or tokens):  # one kind of credential is enough
        raise SetupError(
            "The settings of the Responder azure are incomplete.",
            hint="Set AZURE_OPENAI__ENDPOINT, AZURE_OPENAI__DEPLOYMENT, and AZURE_OPENAI__API_KEY, _CLIENT_SECRET, "
            "_FEDERATED_TOKEN_FILE or _MANAGED_IDENTITY.",
        )

    async def headers() -> Mapping[str, str]:
        if tokens:
            return {"Authorization": f"Bearer {await tokens.token()}"}
        return {"api-key": key}

    base = azure.endpoint.rstrip("/").removesuffix(PATH)
    api = ApiEndpoint(base + PATH, key)
    endpoint = RealtimeEndpoint(
        api.realtime_url, key, voice_of(settings, azure.deployment), headers, "the settings AZURE_OPENAI__*"
    )
    about = ResponderInfo("Azure OpenAI", azure.deployment, offline=False)
    return OpenedProvider(realtime_provider("azure", about, endpoint, f" at {api.base_url}"), api, has_models=bool(key))


EXTENSION = Extension(
    name="azure",
    title="Azure OpenAI",
    settings=(AzureOpenAISettings,),
    responders={"azure": open_provider},
    former={"AZURE_OPENAI__TOKEN_FILE": "AZURE_OPENAI__FEDERATED_TOKEN_FILE"},
)
