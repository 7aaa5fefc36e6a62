"""Settings of the steps around a turn (`PIPELINE__…`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class PipelineSettings(BaseModel):
    """Options of steps; where a finished turn is told."""

    options: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description='Options by step, as JSON: {"speaker_facts": {"facts": 3}}.'
    )
