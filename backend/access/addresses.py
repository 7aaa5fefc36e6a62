"""The addresses of callers in the form that limits count, and the networks of trusted proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

UNKNOWN = "unknown"


class Networks:
    """The networks of the trusted proxies."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(each, strict=False) for each in networks]

    def contain(self, address: str) -> bool:
        """Return whether `address` belongs to one of the networks."""
        try:
            asked = ipaddress.ip_address(address)
        except ValueError:
            return address == "local"
        return any(asked in each for each in self._networks)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_from_here(connection: HTTPConnection) -> bool:
    """Return whether the request comes from this machine and is addressed to loopback.

    A request that a proxy forwarded may come from anywhere. So may a request for a public name of the server, since a
    tunnel ends on this machine, too.
    """
    headers = Headers(scope=connection.scope)
    forwarded = "x-forwarded-for" in headers or "forwarded" in headers
    client = connection.client
    return (
        client is not None and is_loopback(client.host) and not forwarded and _names_loopback(headers.get("host", ""))
    )


def address_key(connection: HTTPConnection) -> str:
    """Return the key of the caller's bucket: the IPv4 address, or the /64 network of an IPv6 address."""
    return network_of(connection.client.host) if connection.client else "local"


def network_of(host: str) -> str:
    """Return the form of `host` that limits count: the IPv4 address, or the /64 network of an IPv6 address.

    Loopback has no network: `::1` is itself.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return UNKNOWN  # one for all names, since callers choose them
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _names_loopback(host: str) -> bool:
    """Return whether a `Host` header names loopback."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
