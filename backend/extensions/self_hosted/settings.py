"""The settings of a self-hosted server of the Realtime protocol, named SELF_HOSTED__* in the environment."""

from typing import Literal

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class SelfHostedSettings(PluginSettings, env_prefix="SELF_HOSTED__"):
    """The kind of server, and its address."""

    server: Literal["speech_to_speech", "localai", "vllm_omni"] = Field(
        "speech_to_speech", description="Which program it is; docs/howto/providers.md says how they differ."
    )
    base_url: str = Field(
        "", pattern=r"^(https?://[^/\s]+.*)?$", description="Address of its API, e.g. http://localhost:8765/v1."
    )
    model: str = Field("default", description="The model it is asked for; speech-to-speech has only its own.")
    voice: str = Field("", description="One of its voices; empty: as it is set up.")
    api_key: SecretStr = Field(SecretStr("none"), description="A key of it, sent as a bearer token.")
