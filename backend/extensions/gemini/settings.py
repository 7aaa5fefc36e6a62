"""The settings of Gemini's Live API, named GEMINI__* in the environment."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class GeminiSettings(PluginSettings, env_prefix="GEMINI__"):
    """The model of the Live API, its voice and its credentials."""

    api_key: SecretStr = Field(SecretStr(""), description="A key of Google AI Studio.")
    model: str = Field("gemini-3.8-live", description="A model of the Live API.")
    voice: str = Field("Kore", description="One of its voices, by name.")
    url: str = Field(
        "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        pattern=r"^wss?://[^/\s]+",
        description="Address of its WebSocket.",
    )
