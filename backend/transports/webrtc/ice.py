"""The ICE configuration: STUN and TURN servers, the advertised address, the UDP ports, how long callers may take."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from aiortc import RTCIceServer

from backend.errors import SettingsError
from backend.transports.webrtc.aiortc_media import check_ice_servers


@dataclass(frozen=True, slots=True)
class IceConfig:
    """The way calls reach this server. Raises `SettingsError` at start-up rather than at the first call."""

    ice_servers: tuple[RTCIceServer, ...] = ()
    """None by default: nothing leaves for a public STUN server unless the operator names one."""
    force_host: str | None = None
    """IP address to advertise instead of our own (Docker, NAT)."""
    port_range: tuple[int, int] | None = None
    """UDP ports to bind, both ends included; None: whatever the system gives."""
    connect_within_s: float = 10.0
    """Seconds a call may take to connect after our answer."""
    lost_after_s: float = 10.0
    """Seconds without a media packet after which the caller counts as gone."""

    def __post_init__(self) -> None:
        try:
            check_ice_servers(self.ice_servers)
        except ValueError as error:
            raise SettingsError(
                f"ICE_SERVERS: {error}", hint='Write e.g. [{"urls": "turn:turn.example.com:3478"}].'
            ) from error
        if (host := self.force_host) is None:
            return
        try:
            address = ipaddress.ip_address(host)
        except ValueError as error:
            raise SettingsError(
                f"RTC_FORCE_HOST: {host!r} is not an IP address", hint="Browsers need an address here, not a name."
            ) from error
        if address.is_unspecified or address.is_multicast:
            raise SettingsError(f"RTC_FORCE_HOST: no caller can reach {host}", hint="Set the address callers reach.")
