"""Settings of Thinkers and tools, of the steps around a turn (`PIPELINE__…`), the router, and the reasoners."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from backend.settings.network import as_list
from backend.settings.plugin import PluginSettings


class PipelineSettings(BaseModel):
    """Options of the steps around a turn, and the webhook that receives finished turns."""

    options: dict[str, dict[str, object]] = Field(
        default_factory=dict, description='Options by step, as JSON: {"speaker_facts": {"facts": 3}}.'
    )
    webhook_url: str = Field("", description="Address that receives every finished turn, signed; empty: none.")
    webhook_hosts: str = Field(
        "", description="Hosts the webhook may be at, comma-separated; a private address must be listed itself."
    )
    webhook_secret: SecretStr = Field(
        SecretStr(""), description="Key that signs what the webhook receives, 16 characters or more."
    )


class RouterSettings(BaseModel):
    """The router that chooses the tools of a typed turn."""

    above: int = Field(
        12,
        ge=0,
        description="With more tools than this, a model first picks those a typed turn needs; 0: with more than 128.",
    )
    model: str = Field("", description="The model that picks; empty: THINKER_MODEL.")


class ReasoningSettings(BaseModel):
    """The limits of reasoning tasks."""

    deadline_s: float = Field(120, gt=0, description="Seconds a task may take; then it answers with what it has.")
    per_minute: int = Field(10, ge=0, description="Tasks over HTTP per minute and caller.")


class AgentSettings(PluginSettings):
    """The files that Thinkers, tools and steps come from, and how they work together."""

    plugin_folders: Annotated[list[Path], NoDecode, BeforeValidator(as_list)] = Field(
        [], description="Folders with Thinkers, tools, steps and extensions of your own, comma-separated."
    )
    reload: bool = Field(False, description="Make saved Thinkers and tools of plugins live; for development.")
    router: RouterSettings = Field(default_factory=RouterSettings)  # type: ignore[arg-type]
    pipeline: PipelineSettings = Field(default_factory=PipelineSettings)  # type: ignore[arg-type]
    reasoning: ReasoningSettings = Field(default_factory=ReasoningSettings)  # type: ignore[arg-type]

    @field_validator("plugin_folders")
    @classmethod
    def _folders(cls, value: list[Path]) -> list[Path]:
        if missing := [str(folder) for folder in value if not folder.is_dir()]:
            raise ValueError(f"must name folders that exist, comma-separated; {', '.join(missing)} does not")
        return value
