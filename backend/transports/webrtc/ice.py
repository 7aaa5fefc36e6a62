"""The ICE configuration: STUN and TURN servers, the advertised address, the UDP ports, the time limits."""

import ipaddress
from dataclasses import dataclass

from aiortc import RTCIceGatherer, RTCIceServer

from backend.errors import SettingsError


@dataclass(frozen=True, slots=True)
class IceConfig:
    """The configuration of WebRTC calls. Raises `SettingsError` at start-up instead of at the first call."""

    ice_servers: tuple[RTCIceServer, ...] = ()
    """The STUN and TURN servers; none by default, so that no public server is asked unless the operator names one."""
    force_host: str | None = None
    """The IP address to advertise instead of our own (Docker, NAT)."""
    port_range: tuple[int, int] | None = None
    """The UDP ports to bind, both ends included; None: any port."""
    connect_within_s: float = 10.0
    """Seconds in which a call must connect after our answer."""
    lost_after_s: float = 10.0
    """Seconds without a media packet after which the caller counts as gone."""

    def __post_init__(self) -> None:
        try:
            RTCIceGatherer(list(self.ice_servers))  # as the first connection does
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
