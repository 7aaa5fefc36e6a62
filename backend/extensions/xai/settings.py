"""The settings of xAI's voice agent API, named XAI__* in the environment."""

from typing import Literal

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class XaiSettings(PluginSettings, env_prefix="XAI__"):
    """The model that speaks, and its credentials."""

    api_key: SecretStr = Field(SecretStr(""), description="A key of xAI.")
    base_url: str = Field("https://api.x.ai/v1", pattern=r"^https?://[^/\s]+", description="Address of its API.")
    model: str = Field("grok-voice-latest", description="A voice model of xAI.")
    voice: str = Field("eve", description="One of its voices, by name.")
    effort: Literal["", "none", "high"] = Field("", description="Reasoning before it answers; empty: as xAI has it.")
