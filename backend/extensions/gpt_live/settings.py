"""The settings of OpenAI's GPT-Live, named GPT_LIVE__* in the environment; its key is OPENAI_API_KEY."""

from pydantic import Field

from backend.settings.plugin import PluginSettings


class GptLiveSettings(PluginSettings, env_prefix="GPT_LIVE__"):
    """The model that speaks, its voice and its address."""

    model: str = Field("gpt-live-1", description="A model of the Live API.")
    voice: str = Field("marin", description="One of its voices, by name.")
    url: str = Field(
        "wss://api.openai.com/v1/live/sessions", pattern=r"^wss?://[^/\s]+", description="Address of its WebSocket."
    )
