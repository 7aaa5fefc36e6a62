"""Settings of the calendar (`CALENDAR__…`)."""

import re

from pydantic import Field, SecretStr, field_validator

from backend.settings.plugin import PluginSettings


class CalendarSettings(PluginSettings, env_prefix="CALENDAR__"):
    """The place of the calendars: a CalDAV server, or Redis."""

    url: str | None = Field(
        None,
        description="CalDAV home of one account, in which each user gets a calendar; unset: in Redis.",
    )
    username: str = Field("", description="User name of the CalDAV account.")
    password: SecretStr = Field(SecretStr(""), description="Password of the CalDAV account.")

    @field_validator("url")
    @classmethod
    def _holds_no_password(cls, value: str | None) -> str | None:
        if value and not re.match(r"https?://[^/\s@]+(/|$)", value):
            raise ValueError(
                "must start with http:// or https:// and hold no password, e.g. https://cal.example.com/me/"
            )
        return value
