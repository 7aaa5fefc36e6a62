"""Settings of shared transcripts (`SHARING__…`)."""

from pydantic import Field

from backend.settings.plugin import PluginSettings


class SharingSettings(PluginSettings, env_prefix="SHARING__"):
    """The longest life of a shared link."""

    days: float = Field(
        30, ge=0, description="Days for which the link to a shared transcript may work; 0: sharing is off."
    )
