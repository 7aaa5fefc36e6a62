"""Settings of calls by SIP (`SIP__…`)."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated

from aiosipua.auth import SipDigestAuth
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from backend.extensions.sip.sdp import CodecName
from backend.settings.network import Networks, port_range, split
from backend.settings.plugin import PluginSettings

USER = re.compile(r"([A-Za-z0-9_.+-]{1,64}):(.{8,128})")
TRUNK = re.compile(r"sip:[A-Za-z0-9_.+%-]{1,64}@[A-Za-z0-9.-]{1,253}(:\d{1,5})?(;transport=(udp|tcp))?")


def _address(value: str) -> str:
    if value:
        try:
            ip_address(value)
        except ValueError:
            raise ValueError(f"{value!r} is not an IP address; write e.g. 203.0.113.10") from None
    return value


def _codecs(value: object) -> object:
    return split(value.upper()) if isinstance(value, str) else value


Ports = Annotated[tuple[int, int], NoDecode, BeforeValidator(port_range)]
Address = Annotated[str, AfterValidator(_address)]
Codecs = Annotated[list[CodecName], NoDecode, BeforeValidator(_codecs)]


class SipSettings(PluginSettings, env_prefix="SIP__"):
    """Calls by SIP: from a trunk, a telephone system, or telephones in the same network."""

    enabled: bool = Field(False, description="Whether calls by SIP are taken.")
    host: Address = Field("0.0.0.0", description="Address to listen on, for SIP and for sound.")
    port: int = Field(5060, ge=0, le=65_535, description="Port of SIP, UDP and TCP; 0: one of the system's choice.")
    public_address: Address = Field(
        "", description="Address that peers get, where a router or container hides ours; empty: our own."
    )
    rtp_ports: Ports = Field((12_000, 12_199), description="UDP ports of sound, LOW-HIGH; a call takes an even one.")
    max_calls: int = Field(20, ge=1, le=1_000, description="Calls by SIP at the same time; others are answered 503.")
    peers: Networks = Field([], description="Addresses and networks that may call without a password.")
    users: SecretStr | None = Field(
        None, description="Who may call from anywhere, name:password, comma-separated; 8 characters or more each."
    )
    trunk: str = Field(
        "", description="Where to register, sip:account@host, with :port or ;transport=tcp if need be; empty: nowhere."
    )
    trunk_user: str = Field("", description="The name the trunk's challenges are answered with; empty: the account.")
    trunk_password: SecretStr | None = Field(None, description="The password for it.")
    codecs: Codecs = Field(
        [CodecName.PCMU, CodecName.PCMA, CodecName.OPUS, CodecName.G722],
        min_length=1,
        description="Codecs that are taken; the first that a caller has is used.",
    )

    @field_validator("users")
    @classmethod
    def _users(cls, value: SecretStr | None) -> SecretStr | None:
        for each in value.get_secret_value().split(",") if value else []:
            if not USER.fullmatch(each.strip()):
                raise ValueError("must be name:password pairs, comma-separated, with passwords of 8 characters or more")
        return value

    @field_validator("trunk")
    @classmethod
    def _trunk(cls, value: str) -> str:
        if value and not TRUNK.fullmatch(value):
            raise ValueError("must be sip:account@host, with :port or ;transport=tcp if need be")
        return value

    @model_validator(mode="after")
    def _reachable(self) -> SipSettings:
        if self.enabled and not (self.peers or self.users or self.trunk):
            raise ValueError("nothing may call yet: set SIP__PEERS, SIP__USERS or SIP__TRUNK")
        if self.trunk and self.trunk_password is None:
            raise ValueError("SIP__TRUNK needs SIP__TRUNK_PASSWORD")
        return self

    @property
    def credentials(self) -> SipDigestAuth | None:
        """The credentials for challenges of the trunk; None without a password."""
        if self.trunk_password is None:
            return None
        user = self.trunk_user or self.trunk.removeprefix("sip:").partition("@")[0]
        return SipDigestAuth(user, self.trunk_password.get_secret_value())

    @property
    def passwords(self) -> dict[str, str]:
        """Return each user's password."""
        pairs = self.users.get_secret_value().split(",") if self.users else []
        return {name: password for name, _, password in (pair.strip().partition(":") for pair in pairs)}
