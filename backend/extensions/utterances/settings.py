"""The setting of the utterance classifier."""

from __future__ import annotations

from pydantic import Field

from backend.settings.plugin import PluginSettings


class UtteranceSettings(PluginSettings, env_prefix="UTTERANCES__"):
    """The reading of short utterances by their sound."""

    enabled: bool = Field(
        True, description="A process beside the server reads short utterances by their sound; it takes CPU and 100 MB."
    )
