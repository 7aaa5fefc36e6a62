"""These functions make HTTP requests to services: answers become types, and failures errors of this server.

    crater = await fetch_answer(http, "The moon", f"{url}/craters", Crater, method="POST", json={"name": "Tycho"})

A request is made only once, since only the caller knows whether it may be repeated.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from backend.errors import ToolFailed

TIMEOUT_S = 4.0
"""Seconds one request may be silent, since a caller waits."""
BODY_LIMIT = 2_000_000
"""The most bytes of an answer that are read."""


class ServiceUnreachable(ToolFailed):
    """The service gave no usable answer: no connection, silence, 5xx, a rate limit, or an undocumented form.

    `str(error)` gives the reason in words for the user.
    """


class ServiceAnswer(BaseModel):
    """The used part of a service's documented answer; other fields are ignored."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


A = TypeVar("A", bound=ServiceAnswer)
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


async def fetch_answer(
    http: httpx2.AsyncClient,
    service: str,
    url: str,
    form: type[A],
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    method: Method = "GET",
    json: Any = None,
    timeout_s: float = TIMEOUT_S,
) -> A:
    """Return the JSON of the answer as a `form`. `service` names the service in errors. Raises like `fetch_text`."""
    accepting = {"accept": "application/json", **(headers or {})}
    text = await fetch_text(http, service, url, params, accepting, method=method, json=json, timeout_s=timeout_s)
    try:
        return form.model_validate_json(text)
    except ValidationError as error:
        raise ServiceUnreachable(f"{service} sent an answer that cannot be read.") from error


async def fetch_text(
    http: httpx2.AsyncClient,
    service: str,
    url: str,
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    method: Method = "GET",
    json: Any = None,
    timeout_s: float = TIMEOUT_S,
) -> str:
    """Return the text of the answer, decoded as UTF-8. `json` is the request's body, unless it is None.

    Raises `ServiceUnreachable`, or `ToolFailed` (not retryable) when the service refuses the request itself.
    """
    try:
        async with http.stream(method, url, params=params, headers=headers, json=json, timeout=timeout_s) as response:
            body = await read_body(service, response)
            status = response.status_code
    except httpx2.TimeoutException as error:
        raise ServiceUnreachable(f"{service} does not answer.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ServiceUnreachable(f"{service} cannot be reached.") from error
    if status == 429:
        raise ServiceUnreachable(f"{service} accepts no more requests from us for now.")
    if status >= 500:
        raise ServiceUnreachable(f"{service} has an error of its own ({status}).")
    if status >= 300:
        raise refused(f"{service} refuses the request ({status}).")
    return body.decode("utf-8", "replace")


def refused(message: str) -> ToolFailed:
    """Return a failure that another attempt cannot repair."""
    error = ToolFailed(message)
    error.retryable = False
    return error


async def read_body(service: str, response: httpx2.Response) -> bytes:
    """Return the whole body. Raises `ServiceUnreachable` when it exceeds `BODY_LIMIT`."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise ServiceUnreachable(f"{service} sent far too much data.")
    return bytes(body)
