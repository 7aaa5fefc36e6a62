"""The settings of the local Responder (`LOCAL_…`), and of the process that plays it (`OFFLINE_…`)."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class LocalSettings(PluginSettings, env_prefix="LOCAL_"):
    """The model with which the local Responder thinks, and its number of calls."""

    model_url: str = Field(
        "", description="A chat completions API for the local Responder and its Thinkers, e.g. http://localhost:11434."
    )
    model: str = Field("", description="The model to ask there; empty: the first that it lists.")
    model_key: SecretStr = Field(SecretStr(""), description="Its API key, if it wants one.")
    calls: int = Field(
        0,
        ge=0,
        description="Local calls of all processes that share DATA_DIR; 0: as many as the cores serve.",
    )


class OfflineSettings(PluginSettings, env_prefix="OFFLINE_"):
    """The process that plays the local Responder."""

    url: str | None = Field(None, description="Address of a running local Responder; unset: the server starts its own.")
