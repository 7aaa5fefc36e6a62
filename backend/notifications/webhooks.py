"""The webhook client posts events (a finished turn, a reminder) to another server, signed, with retries.

A signature is `sha256=` and the hex HMAC-SHA256, with the shared secret, of the timestamp header, a full stop, and the
body's bytes. It shows the receiver that the body is genuine, complete, and new. Only allowed hosts get requests. The
client looks up a host's address once, checks it, and connects to that address, so that the name cannot lead elsewhere
between the check and the request.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2
from tenacity import AsyncRetrying, before_sleep_log, retry_if_exception, stop_after_attempt, wait_chain, wait_fixed

from backend.errors import PeerError, SettingsError

log = logging.getLogger(__name__)

SIGNATURE_HEADER = "x-responder-signature"
TIMESTAMP_HEADER = "x-responder-timestamp"
DELIVERY_HEADER = "x-responder-delivery"
TIMEOUT_S = 4.0
"""Seconds one attempt may take."""
PAUSES_S = (0.5, 2.0, 5.0)
"""Seconds before the second attempt, the third, the fourth."""
BODY_LIMIT = 64 * 1024
"""Bytes of one body."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → addresses. Raises `OSError`."""


class WebhookFailed(PeerError):
    """The other server did not accept a delivery. `str(error)` says why, without users' words."""


class WebhookRefused(WebhookFailed):
    """The other server, or this one, refuses a delivery for good."""

    retryable = False


class WebhookClient:
    """The connection to one webhook, which its owner must close."""

    def __init__(
        self,
        *,
        url: str,
        secret: str,
        hosts: Collection[str],
        pauses_s: Sequence[float] = PAUSES_S,
        resolve: Resolve | None = None,
        clock: Callable[[], float] = time.time,
        setting: str = "PIPELINE__WEBHOOK",
    ) -> None:
        """`hosts` are the allowed hosts, by name or address. A private address must be listed itself or by its network,
        such as `10.0.0.0/8`. `setting` is the prefix of the names of its settings. Raises `SettingsError`.
        """
        self._url = url
        self._secret = secret.encode()
        self._hosts = frozenset(host.strip().lower() for host in hosts if host.strip())
        self._networks = [network for host in self._hosts if (network := _network(host)) is not None]
        self._attempts = AsyncRetrying(
            stop=stop_after_attempt(len(pauses_s) + 1),
            wait=wait_chain(*map(wait_fixed, pauses_s)) if pauses_s else wait_fixed(0),
            retry=retry_if_exception(lambda error: isinstance(error, WebhookFailed) and error.retryable),
            before_sleep=before_sleep_log(log, logging.INFO),
            reraise=True,
        )
        self._resolve = resolve or _resolved
        self._clock = clock
        self._setting = setting
        self._client = httpx2.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False)
        self._check()

    async def send(self, event: str, data: Mapping[str, Any], *, delivery: str = "") -> None:
        """POST `data` until it is accepted or all attempts have failed. Raises `WebhookFailed`.

        `delivery` is the id of a delivery that may be repeated; empty: it gets a new id.
        """
        delivery = delivery or secrets.token_hex(8)
        body = json.dumps({"event": event, "delivery": delivery, **data}, ensure_ascii=False, default=str).encode()
        if len(body) > BODY_LIMIT:
            raise WebhookRefused(f"The body is over {BODY_LIMIT // 1024} KB.")
        await self._attempts(self._attempt, delivery, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _attempt(self, delivery: str, body: bytes) -> None:
        parts = urlsplit(self._url)
        host, port = str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)
        address = await self._address(host, port)
        literal = f"[{address}]" if ":" in address else address
        target = urlunsplit(parts._replace(netloc=f"{literal}:{port}"))
        timestamp = str(int(self._clock()))
        headers = {
            "content-type": "application/json",
            "host": parts.netloc.rpartition("@")[2],
            DELIVERY_HEADER: delivery,
            TIMESTAMP_HEADER: timestamp,
            SIGNATURE_HEADER: signature(self._secret, timestamp, body),
        }
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                self._client.stream(
                    "POST", target, content=body, headers=headers, extensions={"sni_hostname": host}
                ) as response,
            ):
                status = response.status_code
        except (httpx2.HTTPError, TimeoutError) as error:
            raise WebhookFailed(f"The webhook's server cannot be reached ({type(error).__name__}).") from error
        if status in (408, 425, 429) or status >= 500:
            raise WebhookFailed(f"The webhook's server is not ready ({status}).")
        if status >= 300:  # A redirect, too: only this host is allowed, not what it points to.
            raise WebhookRefused(f"The webhook's server refuses ({status}).")

    async def _address(self, host: str, port: int) -> str:
        """Return the address to connect to. Raises `WebhookFailed`."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                addresses = await self._resolve(host, port)
        except (OSError, TimeoutError):
            raise WebhookFailed("The webhook's host has no address.") from None
        fitting = [address for address in addresses if self._is_allowed(address)]
        if not fitting:
            raise WebhookRefused("The webhook's host has a private address.")
        return fitting[0]

    def _is_allowed(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        parsed = getattr(parsed, "ipv4_mapped", None) or parsed
        return (parsed.is_global and not parsed.is_multicast) or any(parsed in network for network in self._networks)

    def _check(self) -> None:
        parts = urlsplit(self._url)
        name = self._setting
        hint = f"Set {name}_URL, _HOSTS and _SECRET together; see docs/howto/steps.md."
        # A password in an address would end up in logs.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise SettingsError(f"{name}_URL is not an http(s) address without a password.", hint=hint)
        named = _network(parts.hostname)
        listed = named is not None and any(named.network_address in network for network in self._networks)
        if parts.hostname not in self._hosts and not listed:
            raise SettingsError(f"The webhook's host {parts.hostname} is not among {name}_HOSTS.", hint=hint)
        if len(self._secret) < 16:
            raise SettingsError(f"{name}_SECRET has less than 16 characters.", hint=hint)


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Return the value of the signature header."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _network(host: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the network or single address that an entry names; None for a host name."""
    try:
        return ipaddress.ip_network(host.strip("[]"))
    except ValueError:
        return None


async def _resolved(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
