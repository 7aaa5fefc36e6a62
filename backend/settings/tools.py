"""Settings of the tools' router (`TOOLS__…`)."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ToolSettings(BaseModel):
    """When and by whom the tools of a typed turn are chosen."""

    router_above: int = Field(
        default=12,
        ge=0,
        description="Tools at hand above which a model first picks those a typed turn needs; 0: never.",
    )
    router_model: str = Field(default="", description="That model; empty: THINKER_MODEL.")
    router_deadline_s: float = Field(
        default=2.0, gt=0, le=10, description="Seconds it has; then the turn is offered every tool."
    )
