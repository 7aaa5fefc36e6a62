"""Settings of signing in (`OIDC__…`)."""

import re

from pydantic import Field, SecretStr, field_validator

from backend.settings.network import LOOPBACK
from backend.settings.plugin import PluginSettings


class OidcSettings(PluginSettings, env_prefix="OIDC__"):
    """Signing in with OpenID Connect (`ACCESS=oidc`)."""

    issuer: str = Field("", description="Address of the OpenID provider, as its tokens name it.")
    client_id: str = Field("", description="This server's client id at the provider.")
    client_secret: SecretStr | None = Field(None, description="Its secret; unset: a public client, by PKCE alone.")
    scope: str = Field("openid profile", description="What is asked of the provider, separated by spaces.")
    admin_claim: str = Field("", description="Claim that makes an operator, name=value, e.g. groups=voice-admins.")
    session_hours: int = Field(12, ge=1, le=24 * 30, description="Hours after which a user signs in again.")

    @field_validator("issuer")
    @classmethod
    def _over_tls(cls, value: str) -> str:
        if value and not re.match(r"https://[^/\s@]+", value) and not re.match(LOOPBACK, value):  # loopback is safe
            raise ValueError("must start with https://, since the server trusts its answers")
        return value.rstrip("/")

    @field_validator("admin_claim")
    @classmethod
    def _name_and_value(cls, value: str) -> str:
        if value and not re.fullmatch(r"[^=\s]+=.+", value):
            raise ValueError("must be name=value, e.g. groups=voice-admins")
        return value
