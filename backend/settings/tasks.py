"""Settings of background tasks (`BACKGROUND__…`) and of the coordinator (`COORDINATOR__…`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from backend.settings.plugin import PluginSettings

DAY_S = 86_400


class BackgroundSettings(PluginSettings, env_prefix="BACKGROUND__"):
    """The worker of background tasks, its limits, and how long tasks may take."""

    worker: Literal["inline", "off"] = Field(
        "inline", description="inline: the server works on background tasks, too; off: only worker processes do."
    )
    concurrency: int = Field(3, ge=1, le=64, description="Tasks a worker does at the same time.")
    per_user: int = Field(
        2, ge=0, description="Tasks of one user that workers do in parallel; users take turns. 0: no limit."
    )
    retries: int = Field(1, ge=0, le=10, description="Times a failed task is tried again.")
    retry_after_s: float = Field(5, ge=0, description="Seconds before it is tried again.")
    soft_limit_s: float = Field(
        300, gt=0, description="Seconds after which a task should answer with what it has found so far."
    )
    hard_limit_s: float = Field(600, gt=0, description="Seconds after which a task is stopped.")
    lease_s: float = Field(
        10, ge=0.4, description="Seconds a worker may be silent before another takes over its tasks."
    )
    keep_days: float = Field(7, gt=0, description="Days a task and its model calls are kept after its last change.")

    @property
    def keep_s(self) -> int:
        """Return the seconds a task is kept after its last change."""
        return round(self.keep_days * DAY_S)

    @model_validator(mode="after")
    def _soft_before_hard(self) -> BackgroundSettings:
        if self.soft_limit_s > self.hard_limit_s:
            raise ValueError("BACKGROUND__SOFT_LIMIT_S must not be more than BACKGROUND__HARD_LIMIT_S")
        return self


class CoordinatorSettings(PluginSettings, env_prefix="COORDINATOR__"):
    """The times at which the coordinator thinks about a user, and what it is shown."""

    enabled: bool = Field(True, description="false: results are delivered as they are, and nothing is thought about.")
    model: str = Field("", description="Model that decides on digests; empty: THINKER_MODEL.")
    min_interval_s: float = Field(15, ge=0, description="Least seconds between two digests of a user.")
    gather_s: float = Field(1, ge=0, description="Seconds to wait for more after a user has said something.")
    listener_after_s: float = Field(
        0.5, ge=0, description="Seconds after which a result is thought about while its user is on a call."
    )
    results_after_s: float = Field(20, ge=0, description="The same while the user is not on a call.")
    history_entries: int = Field(40, ge=20, le=100, description="Events that a digest looks back on.")
    history_bytes: int = Field(20_480, ge=1_024, description="Most bytes of them.")
    tasks: int = Field(10, ge=5, le=20, description="Tasks of the user that a digest shows.")
    think_within_s: float = Field(60, gt=0, description="Seconds a digest's model may take.")
    lease_s: float = Field(
        10, ge=0.4, description="Seconds a process that thinks about a user may be silent before another takes over."
    )
