"""Settings of reminders and how they reach their users (`NOTIFICATIONS__…`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class NotificationSettings(PluginSettings, env_prefix="NOTIFICATIONS__"):
    """Delivery of reminders, their limits, and where they go when their user is away."""

    deliver: Literal["on_time", "when_asked"] = Field(
        "on_time", description="on_time: the server delivers reminders when they are due; when_asked: only at /execute."
    )
    per_user: int = Field(100, ge=1, le=1_000, description="Reminders and open notes a user may have.")
    text_chars: int = Field(500, ge=1, le=2_000, description="Characters of one reminder.")
    keep_days: float = Field(14, gt=0, description="Days a due reminder that did not reach its user is kept.")
    lease_s: float = Field(10, ge=0.5, description="Seconds after which another process takes over a begun delivery.")
    webhook_url: str = Field(
        "", description="Address that receives a reminder for a user on no call and no page; empty: none."
    )
    webhook_hosts: str = Field(
        "", description="Hosts it may be at, comma-separated; a private address must be listed itself."
    )
    webhook_secret: SecretStr = Field(
        SecretStr(""), description="Key that signs what it receives, 16 characters or more."
    )
