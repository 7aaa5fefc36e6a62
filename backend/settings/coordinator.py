"""Settings of the coordinator, which thinks about what happened for a user (`COORDINATOR__…`)."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CoordinatorSettings(BaseModel):
    """When it thinks, and what it is shown."""

    enabled: bool = Field(True, description="false: results are told as they are, and nothing is thought about.")
    apart_s: float = Field(15, ge=0, description="Seconds between two digests of a user, at least.")
    gather_s: float = Field(1, ge=0, description="Seconds to wait for more, once a user has said something.")
    listener_after_s: float = Field(
        0.5, ge=0, description="Seconds after which a result is thought about while its user is on a call."
    )
    results_after_s: float = Field(20, ge=0, description="The same for results alone, when nobody listens.")
    history_entries: int = Field(40, ge=20, le=100, description="Things that happened a digest looks back on.")
    history_bytes: int = Field(20_480, ge=1_024, description="Bytes of them, at most.")
    tasks: int = Field(10, ge=5, le=20, description="Tasks of the user a digest shows.")
    think_within_s: float = Field(60, gt=0, description="Seconds one digest's model may take.")
    lease_s: float = Field(
        10, ge=0.4, description="Seconds a process that thinks about a user may be silent before another takes over."
    )
