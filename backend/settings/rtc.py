"""Settings of WebRTC: the server's own ports, and the STUN and TURN servers."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from backend.settings.network import PortRange
from backend.settings.plugin import PluginSettings


class IceServerEntry(BaseModel):
    """One STUN or TURN server, as browsers write it."""

    urls: str | list[str]
    username: str | None = None
    credential: str | None = Field(None, repr=False)


class RtcSettings(PluginSettings):
    """The UDP addresses and ICE servers by which callers and the server reach each other."""

    rtc_force_host: str | None = Field(None, description="IP address to advertise to callers, behind Docker or NAT.")
    rtc_port_range: PortRange = Field(None, description="UDP ports to bind, e.g. 10000-10100.")
    ice_servers: Annotated[list[IceServerEntry], NoDecode] = Field(
        [], description="STUN/TURN servers as JSON. A username and password in it are used by the server alone."
    )
    turn_secret: SecretStr = Field(
        SecretStr(""), description="The secret shared with the TURN servers (coturn: static-auth-secret), for callers."
    )
    turn_ttl_minutes: int = Field(60, ge=1, le=1440, description="Minutes a caller's TURN credentials are good for.")

    @field_validator("turn_secret")
    @classmethod
    def _turn_secret(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < 16:
            raise ValueError("must have 16 characters or more, e.g. what `openssl rand -hex 32` prints")
        return value

    @field_validator("ice_servers", mode="before")
    @classmethod
    def _ice_servers(cls, value: Any) -> Any:
        try:
            servers = json.loads(value) if isinstance(value, str) else value
        except json.JSONDecodeError:
            servers = None
        if isinstance(servers, list):
            return servers
        raise ValueError(
            'must be a JSON list, e.g. [{"urls": "turn:turn.example.com", "username": "…", "credential": "…"}]'
        )
