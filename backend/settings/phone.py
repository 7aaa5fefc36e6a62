"""Settings of calls by telephone, over any extension that brings a telephone line."""

import re

from pydantic import Field, field_validator

from backend.settings.network import Names
from backend.settings.plugin import PluginSettings

TARGET = re.compile(r"\+?[0-9]{2,15}|sips?:[^\s<>\"',]{1,200}")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class PhoneSettings(PluginSettings, env_prefix="TELEPHONE__"):
    """The services for callers by telephone."""

    transfers: Names = Field(
        [],
        description="Where calls may be transferred to: name=number or name=sip:address, comma-separated.",
    )

    @field_validator("transfers")
    @classmethod
    def _checked(cls, value: list[str]) -> list[str]:
        for each in value:
            name, _, target = each.partition("=")
            if not NAME.fullmatch(name) or not TARGET.fullmatch(target):
                raise ValueError(
                    f"{each!r} is not name=target; write e.g. sales=+15550100,front_desk=sip:desk@pbx.example.com"
                )
        return value

    @property
    def targets(self) -> dict[str, str]:
        """Return the number or SIP address behind each name."""
        return {name: target for name, _, target in (each.partition("=") for each in self.transfers)}
