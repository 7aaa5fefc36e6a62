"""Callers and requests, as those who make and show client secrets."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from backend.access.credentials import Identity
from backend.access.principal import USER_GRANTS, Principal, Tier


def caller(user: str) -> Identity:
    """Return a caller who has shown a key."""
    principal = Principal(user, Tier.SIGNED_IN, USER_GRANTS, None, "192.0.2.1", "key shop")
    return Identity(principal, known=True, announce=False)


def asking(secret: str, path: str = "/v1/realtime") -> HTTPConnection:
    """Return a request that shows a secret."""
    headers = [(b"host", b"here"), (b"authorization", f"Bearer {secret}".encode())]
    return HTTPConnection(
        {"type": "http", "path": path, "query_string": b"", "headers": headers, "client": ("192.0.2.9", 1)}
    )
