"""The settings of Azure OpenAI, named AZURE_OPENAI__* in the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr


class AzureOpenAISettings(BaseModel):
    """Where the customer's own deployment is, and how it lets us in."""

    endpoint: str = Field("", pattern=r"^(https?://[^/\s]+.*)?$", description="https://NAME.openai.azure.com.")
    deployment: str = Field("", description="The deployment of a realtime model, named as its model is elsewhere.")
    api_key: SecretStr = Field(SecretStr(""), description="A key of the resource, sent as `api-key`.")
    token_file: Path | None = Field(
        None, description="File with a Microsoft Entra token in place of a key, read again for every connection."
    )
