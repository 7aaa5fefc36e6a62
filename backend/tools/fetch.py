"""Asking a service over HTTP, with its failures in our terms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from backend.errors import ToolFailed

TIMEOUT_S = 4.0
"""Seconds one request may be silent; a caller is waiting."""
BODY_LIMIT = 2_000_000
"""Bytes read of an answer, at most."""


class ServiceUnreachable(ToolFailed):
    """No usable answer came: no connection, silence, 5xx, a rate limit, or something that is not what is documented.

    `str(error)` says which, in words for the user.
    """


async def fetch_json(
    http: httpx2.AsyncClient,
    service: str,
    url: str,
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Any:
    """The JSON at `url`. `service` names it in errors. Raises as `fetch_text` does."""
    text = await fetch_text(http, service, url, params, {"accept": "application/json", **(headers or {})})
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise ServiceUnreachable(f"{service} answers with something that is not JSON.") from error


async def fetch_text(
    http: httpx2.AsyncClient,
    service: str,
    url: str,
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> str:
    """The text at `url`, read as UTF-8.

    Raises `ServiceUnreachable`, or `ToolFailed` (not retryable) when the service refuses the request itself.
    """
    try:
        async with http.stream("GET", url, params=params, headers=headers, timeout=TIMEOUT_S) as response:
            body = await read_body(service, response)
            status = response.status_code
    except httpx2.TimeoutException as error:
        raise ServiceUnreachable(f"{service} does not answer.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ServiceUnreachable(f"{service} cannot be reached.") from error
    if status == 429:
        raise ServiceUnreachable(f"{service} has had too many requests from us.")
    if status >= 500:
        raise ServiceUnreachable(f"{service} has a fault of its own ({status}).")
    if status >= 300:
        raise refused(f"{service} refuses the request ({status}).")
    return body.decode("utf-8", "replace")


def refused(message: str) -> ToolFailed:
    """A failure that asking again will not mend."""
    error = ToolFailed(message)
    error.retryable = False
    return error


def _no_constant(name: str) -> None:
    """NaN and the infinities are no JSON, though Python would read them."""
    raise ValueError(name)


async def read_body(service: str, response: httpx2.Response) -> bytes:
    """All of an answer. Raises `ServiceUnreachable` when it is over `BODY_LIMIT`."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise ServiceUnreachable(f"{service} answers with far too much.")
    return bytes(body)
