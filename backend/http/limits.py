"""Rate limits are token buckets. Pure: the time is an argument.

A bucket holds a minute's worth of requests and refills evenly. The table of buckets is bounded; the one used
longest ago goes first, and its owner starts again with a full one.
"""

from __future__ import annotations

import ipaddress
import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from backend.access.access import is_loopback
from backend.errors import TooMany

UNKNOWN = "unknown"
TABLE_LIMIT = 10_000
"""Buckets in one table at once."""


class Buckets:
    """One bucket per key. `per_minute` 0 lets everything through."""

    def __init__(self, per_minute: int, *, what: str, limit: int = TABLE_LIMIT) -> None:
        self._per_minute = per_minute
        self._what = what
        self._limit = limit
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Key → requests left, and when they were counted."""

    def __repr__(self) -> str:
        return f"Buckets({self._what}: {self._per_minute}/min, {len(self._buckets)} keys)"

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: str, now: float) -> None:
        """Spend one of `key`'s requests at `now` (seconds of any steady clock). Raises `TooMany` when none is left."""
        if self._per_minute:
            self.check(key, now)
            left, at = self._buckets[key]
            self._buckets[key] = left - 1, at

    def check(self, key: str, now: float) -> None:
        """Spend nothing. Raises `TooMany` when none of `key`'s requests is left."""
        if not self._per_minute:
            return
        left, at = self._buckets.get(key, (self._per_minute, now))
        left = min(self._per_minute, left + max(0.0, now - at) * self._per_minute / 60)
        self._buckets[key] = left, max(at, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._limit:
            self._buckets.popitem(last=False)
        if left < 1:
            wait_s = max(1, math.ceil((1 - left) * 60 / self._per_minute))
            hint = f"The limit is {self._per_minute} per minute."
            raise TooMany(f"Too many {self._what}.", retry_after_s=wait_s, hint=hint)


class AtOnce:
    """A bound on what each key holds at once in this process, such as the requests of one address under way."""

    def __init__(self, limit: int, *, what: str) -> None:
        self._limit = limit
        self._what = what
        self._held: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"AtOnce({self._what}: {self._held.total()} of {len(self._held)} keys)"

    @contextmanager
    def holding(self, key: str) -> Iterator[None]:
        """Count one more of `key` within the block. Raises `TooMany` when it has as many as it may."""
        if self._held[key] >= self._limit:
            raise TooMany(f"Too many {self._what}.", retry_after_s=5, hint=f"The limit is {self._limit} at a time.")
        self._held[key] += 1
        try:
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]


class Networks:
    """A set of networks: those of the proxies that are trusted."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(each, strict=False) for each in networks]

    def __repr__(self) -> str:
        return f"Networks({', '.join(map(str, self._networks))})"

    def hold(self, address: str) -> bool:
        """Return whether `address` belongs to one of them."""
        try:
            asked = ipaddress.ip_address(address)
        except ValueError:
            return address == "local"
        return any(asked in each for each in self._networks)


def is_from_here(connection: HTTPConnection) -> bool:
    """Return whether the request comes from this very machine, and was made for it.

    One that a proxy has passed on may come from anywhere, and so may one for a name under which others know the server:
    a tunnel ends on this machine, too.
    """
    headers = Headers(scope=connection.scope)
    forwarded = "x-forwarded-for" in headers or "forwarded" in headers
    client = connection.client
    return (
        client is not None and is_loopback(client.host) and not forwarded and _names_loopback(headers.get("host", ""))
    )


def address_key(connection: HTTPConnection) -> str:
    """Return the caller's bucket: the IPv4 address, or the /64 network of an IPv6 address."""
    return network_of(connection.client.host) if connection.client else "local"


def network_of(host: str) -> str:
    """Return the address as limits count it: the IPv4 address, or the /64 network of an IPv6 address.

    Loopback has no network: `::1` is itself.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return UNKNOWN  # one for all: a name that callers may choose must not be an address of its own
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
