"""Settings of background tasks (`BACKGROUND__…`) and of the coordinator (`COORDINATOR__…`)."""

from typing import Literal

from pydantic import Field

from backend.settings.plugin import PluginSettings

DAY_S = 86_400


class BackgroundSettings(PluginSettings, env_prefix="BACKGROUND__"):
    """The worker of background tasks, its limits, and how long tasks may take."""

    worker: Literal["inline", "off"] = Field(
        "inline", description="inline: the server works on background tasks, too; off: only worker processes do."
    )
    concurrency: int = Field(3, ge=1, le=64, description="Tasks a worker does at the same time.")
    hard_limit_s: float = Field(
        600, gt=0, description="Seconds after which a task is stopped; after half of them it should answer."
    )
    lease_s: float = Field(
        10, ge=0.4, description="Seconds a worker may be silent before another takes over its tasks."
    )
    keep_days: float = Field(7, gt=0, description="Days a task and its model calls are kept after its last change.")

    @property
    def keep_s(self) -> int:
        """Return the seconds a task is kept after its last change."""
        return round(self.keep_days * DAY_S)


class CoordinatorSettings(PluginSettings, env_prefix="COORDINATOR__"):
    """The model that the coordinator asks, and how often."""

    enabled: bool = Field(True, description="false: results are delivered as they are, without a digest.")
    model: str = Field("", description="Model that decides on digests; empty: THINKER_MODEL.")
    min_interval_s: float = Field(15, ge=0, description="Least seconds between two digests of a user.")
    max_result_wait_s: float = Field(
        20, ge=0, description="Seconds after which a result is considered while its user is not on a call."
    )
