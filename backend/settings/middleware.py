"""Settings of the steps around a turn (`PIPELINE__…`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, SecretStr


class PipelineSettings(BaseModel):
    """Options of steps; where a finished turn is told."""

    options: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description='Options by step, as JSON: {"speaker_facts": {"facts": 3}}.'
    )
    webhook_url: str = Field("", description="Told of every finished turn, signed; empty: nobody.")
    webhook_hosts: str = Field(
        "", description="Hosts the webhook may be at, comma-separated; a private address must be listed itself."
    )
    webhook_secret: SecretStr = Field(
        SecretStr(""), description="Signs what the webhook is told; 16 characters at least."
    )
