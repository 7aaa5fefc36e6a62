"""Settings of the telephone providers (`TWILIO__…`, `TELNYX__…`, `PLIVO__…`)."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings

PUBLIC_URL = r"^(https?://[^/\s]+)?/?$"


class TwilioSettings(PluginSettings, env_prefix="TWILIO__"):
    """Calls that Twilio passes on as Media Streams; its webhook is /twilio/voice."""

    auth_token: SecretStr = Field(
        SecretStr(""),
        description="The account's auth token, which signs Twilio's requests; unset: no calls from it.",
    )
    account_sid: str = Field(
        "", pattern="^(AC[0-9a-zA-Z]{2,64})?$", description="The account's SID; unset: calls cannot be transferred."
    )
    public_url: str = Field(
        "",
        pattern=PUBLIC_URL,
        description="Address at which Twilio reaches this server, e.g. https://voice.example.com; empty: as requested.",
    )


class TelnyxSettings(PluginSettings, env_prefix="TELNYX__"):
    """Calls that a TeXML application of Telnyx passes on by media streaming; its webhook is /telnyx/voice."""

    public_key: str = Field(
        "",
        pattern="^([0-9A-Za-z+/]{43}=)?$",
        description="The account's public key (Ed25519, base64), by which Telnyx is known; empty: no calls from it.",
    )
    api_key: SecretStr = Field(SecretStr(""), description="An API key; unset: calls cannot be transferred.")
    account_sid: str = Field(
        "", pattern="^[0-9a-zA-Z-]{0,64}$", description="The account's id, as TeXML's AccountSid; for transfers, too."
    )
    public_url: str = Field(
        "", pattern=PUBLIC_URL, description="Address at which Telnyx reaches this server; empty: as requested."
    )


class PlivoSettings(PluginSettings, env_prefix="PLIVO__"):
    """Calls that Plivo passes on as audio streams; its webhook is /plivo/voice."""

    auth_token: SecretStr = Field(
        SecretStr(""),
        description="The account's auth token, which signs Plivo's requests; unset: no calls from it.",
    )
    public_url: str = Field(
        "", pattern=PUBLIC_URL, description="Address at which Plivo reaches this server; empty: as requested."
    )
