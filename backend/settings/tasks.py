"""Settings of background tasks (`BACKGROUND__…`)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, model_validator


class BackgroundSettings(BaseModel):
    """Who does them, how many at once, and how long they may take."""

    worker: Literal["inline", "off"] = Field(
        "inline", description="inline: serve works on background tasks, too; off: only worker processes do."
    )
    concurrency: int = Field(3, ge=1, le=64, description="Tasks a worker does at the same time.")
    retries: int = Field(1, ge=0, le=10, description="Times a failed task is tried again.")
    retry_after_s: float = Field(5, ge=0, description="Seconds until then.")
    soft_limit_s: float = Field(
        300, gt=0, description="Seconds after which a task is to answer with what it has found so far."
    )
    hard_limit_s: float = Field(600, gt=0, description="Seconds after which it is stopped.")
    lease_s: float = Field(
        10, ge=0.4, description="Seconds a worker may be silent before its tasks are given to another."
    )
    keep_days: float = Field(7, gt=0, description="Days a task is kept after its last change, and its archive.")

    @model_validator(mode="after")
    def _soft_before_hard(self) -> BackgroundSettings:
        if self.soft_limit_s > self.hard_limit_s:
            raise ValueError("BACKGROUND__SOFT_LIMIT_S must not be more than BACKGROUND__HARD_LIMIT_S")
        return self
