"""The settings of Alibaba's Qwen-Omni-Realtime, named QWEN__* in the environment."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class QwenSettings(PluginSettings, env_prefix="QWEN__"):
    """The model that speaks, and its credentials."""

    api_key: SecretStr = Field(SecretStr(""), description="A key of Alibaba Cloud Model Studio.")
    base_url: str = Field(
        "https://dashscope-intl.aliyuncs.com/api-ws/v1",
        pattern=r"^https?://[^/\s]+",
        description="Address of its API, which differs by region; /realtime is added.",
    )
    model: str = Field("qwen3.5-omni-plus-realtime", description="A realtime model of Qwen-Omni.")
    voice: str = Field("Tina", description="One of its voices, by name.")
