"""Settings of a turn: its steps (`PIPELINE__…`), their choice of tools (`ROUTER__…`), reasoners (`REASONING__…`)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, SecretStr


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
