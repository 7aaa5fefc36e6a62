"""Settings of reminders and how they reach their users (`NOTIFICATIONS__…`)."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class NotificationSettings(PluginSettings, env_prefix="NOTIFICATIONS__"):
    """The limit of reminders, and where they go when their user is away."""

    per_user: int = Field(100, ge=1, le=1_000, description="Reminders and open notes a user may have.")
    webhook_url: str = Field(
        "", description="Address that receives a reminder for a user on no call and no page; empty: none."
    )
    webhook_hosts: str = Field(
        "", description="Hosts it may be at, comma-separated; a private address must be listed itself."
    )
    webhook_secret: SecretStr = Field(
        SecretStr(""), description="Key that signs what it receives, 16 characters or more."
    )
