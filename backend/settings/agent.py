"""Settings of Thinkers and tools, of the steps around a turn (`PIPELINE__…`), the router, and the reasoners."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from backend.settings.network import Names, as_list
from backend.settings.plugin import PluginSettings


class PipelineSettings(BaseModel):
    """Options of the steps around a turn, and the webhook that hears of finished turns."""

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
    deadline_s: float = Field(
        2.0, gt=0, le=10, description="Seconds it may take; after that the turn is offered every tool."
    )


class ReasoningSettings(BaseModel):
    """The models that plan and carry out, and how long they may take."""

    planner_model: str = Field("", description="Model that thinks alone, or plans; empty: THINKER_MODEL_ADVANCED.")
    executor_model: str = Field("", description="Model that carries out a plan, with tools; empty: THINKER_MODEL.")
    voice_strategy: Literal["mono", "dual"] = Field(
        "mono", description="How the Thinker `reason` works: mono, one model; dual, one that plans and one that acts."
    )
    rounds: int = Field(20, ge=1, le=20, description="Most turns of one model, or rounds of two.")
    deadline_s: float = Field(120, gt=0, description="Seconds a task may take; then it answers with what it has.")
    per_minute: int = Field(10, ge=0, description="Tasks over HTTP per minute and caller.")
    tools: str = Field(
        "",
        description="Tools that POST /api/reasoning may use, comma-separated, as far as its caller may; empty: all "
        "that look up what is no user's own.",
    )

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        """Return the names in `tools`."""
        return tuple(name for part in self.tools.split(",") if (name := part.strip()))


class AgentSettings(PluginSettings):
    """The Thinkers, tools and steps that are offered, and the files they come from."""

    thinkers: Names = Field([], description="The Thinkers that are offered, by domain, comma-separated; empty: all.")
    tools: Names = Field(
        [], description="The tools that are offered, comma-separated; empty: all. Other servers' are not among them."
    )
    plugin_folders: Annotated[list[Path], NoDecode, BeforeValidator(as_list)] = Field(
        [], description="Folders with further Thinker and tool files, comma-separated."
    )
    router: RouterSettings = Field(default_factory=RouterSettings)  # type: ignore[arg-type]
    pipeline: PipelineSettings = Field(default_factory=PipelineSettings)  # type: ignore[arg-type]
    reasoning: ReasoningSettings = Field(default_factory=ReasoningSettings)  # type: ignore[arg-type]

    @field_validator("plugin_folders")
    @classmethod
    def _folders(cls, value: list[Path]) -> list[Path]:
        if missing := [str(folder) for folder in value if not folder.is_dir()]:
            raise ValueError(f"must name folders that exist, comma-separated; {', '.join(missing)} does not")
        return value
