"""Settings of the reasoners (`REASONING__…`)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class ReasoningSettings(BaseModel):
    """Who plans, who carries out, and how long."""

    planner_model: str = Field("", description="Thinks alone, or plans; empty: THINKER_MODEL_ADVANCED.")
    executor_model: str = Field("", description="Carries out what is planned, with tools; empty: THINKER_MODEL.")
    voice_strategy: Literal["mono", "dual"] = Field("mono", description="How the Thinker reason goes about it.")
    rounds: int = Field(20, ge=1, le=20, description="Rounds of planner and executor, at most.")
    reflections: int = Field(1, ge=0, le=3, description="Times a draft of one model alone is looked through, at most.")
    deadline_s: float = Field(120, gt=0, description="Seconds a task may take; then what there is is told.")
    per_minute: int = Field(10, ge=0, description="Tasks over HTTP per minute and caller.")
