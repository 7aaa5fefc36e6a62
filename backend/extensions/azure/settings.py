"""The settings of Azure OpenAI, named AZURE_OPENAI__* in the environment."""

from pathlib import Path

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class AzureOpenAISettings(PluginSettings, env_prefix="AZURE_OPENAI__"):
    """The address of the customer's own deployment, and its credentials."""

    endpoint: str = Field("", pattern=r"^(https?://[^/\s]+.*)?$", description="https://NAME.openai.azure.com.")
    deployment: str = Field("", description="The deployment of a realtime model; its name stands for the model's.")
    api_key: SecretStr = Field(SecretStr(""), description="A key of the resource, sent as `api-key`.")
    tenant_id: str = Field(
        "", pattern=r"^[\w.-]*$", description="Microsoft Entra's tenant, for a token in place of a key."
    )
    client_id: str = Field("", description="The application that signs in, or a user-assigned managed identity.")
    client_secret: SecretStr = Field(SecretStr(""), description="The application's secret.")
    federated_token_file: Path | None = Field(
        None, description="File with the token of a service account in place of a secret (workload identity)."
    )
    managed_identity: bool = Field(False, description="Ask the machine's metadata service for the token.")
    authority_url: str = Field(
        "https://login.microsoftonline.com", pattern=r"^https?://[^/\s]+", description="Microsoft Entra's address."
    )
    token_scope: str = Field(
        "https://cognitiveservices.azure.com/.default", description="The token's scope; other clouds have other scopes."
    )
