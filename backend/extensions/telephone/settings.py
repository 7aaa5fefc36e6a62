"""Settings of calls by telephone (`TELEPHONE__…`), and of the providers that pass them on (`TWILIO__…` and others)."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, SecretStr, StringConstraints, field_validator

from backend.settings.network import Names
from backend.settings.plugin import PluginSettings

TARGET = re.compile(r"\+?[0-9]{2,15}|sips?:[^\s<>\"',]{1,200}")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
PUBLIC_URL = r"^(https?://[^/\s]+)?/?$"
HttpUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]


class TelephoneSettings(PluginSettings, env_prefix="TELEPHONE__"):
    """What callers by telephone may have done for them."""

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


class TwilioSettings(PluginSettings, env_prefix="TWILIO__"):
    """Calls that Twilio passes on as Media Streams; its webhook is /twilio/voice."""

    auth_token: SecretStr | None = Field(
        None, description="The account's auth token, with which Twilio signs its requests; unset: no calls from it."
    )
    account_sid: str = Field(
        "", pattern="^(AC[0-9a-zA-Z]{2,64})?$", description="The account's SID; unset: calls cannot be transferred."
    )
    api_url: HttpUrl = Field("https://api.twilio.com", description="Address of its REST API.")
    public_url: str = Field(
        "",
        pattern=PUBLIC_URL,
        description="Address at which Twilio reaches this server, e.g. https://voice.example.com; empty: as requested.",
    )


class TelnyxSettings(PluginSettings, env_prefix="TELNYX__"):
    """Calls that Telnyx passes on by media streaming, of a TeXML application; its webhook is /telnyx/voice."""

    public_key: str = Field(
        "",
        pattern="^([0-9A-Za-z+/]{43}=)?$",
        description="The account's public key (Ed25519, base64), by which Telnyx is known; empty: no calls from it.",
    )
    api_key: SecretStr | None = Field(None, description="An API key; unset: calls cannot be transferred.")
    account_sid: str = Field(
        "", pattern="^[0-9a-zA-Z-]{0,64}$", description="The account's id, as TeXML's AccountSid; for transfers, too."
    )
    api_url: HttpUrl = Field("https://api.telnyx.com", description="Address of its REST API.")
    public_url: str = Field(
        "", pattern=PUBLIC_URL, description="Address at which Telnyx reaches this server; empty: as requested."
    )


class PlivoSettings(PluginSettings, env_prefix="PLIVO__"):
    """Calls that Plivo passes on as audio streams; its webhook is /plivo/voice."""

    auth_token: SecretStr | None = Field(
        None, description="The account's auth token, with which Plivo signs its requests; unset: no calls from it."
    )
    auth_id: str = Field(
        "", pattern="^[0-9A-Za-z]{0,64}$", description="The account's auth ID; unset: calls end by closing the stream."
    )
    api_url: HttpUrl = Field("https://api.plivo.com", description="Address of its REST API.")
    public_url: str = Field(
        "", pattern=PUBLIC_URL, description="Address at which Plivo reaches this server; empty: as requested."
    )
