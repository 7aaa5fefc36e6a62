"""The part of GitHub's REST API that issues need: single requests, lists of pages, and failures in plain words.

Documented at docs.github.com/rest, version 2022-11-28. Requests that change nothing are tried twice; one that posts is
sent once, and raises `Unknown` when it is not known whether it arrived.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import httpx2
from pydantic import TypeAdapter, ValidationError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from backend.errors import ToolFailed
from backend.extensions.github.settings import GitHubSettings
from backend.tools.base import Clock
from backend.tools.fetch import ServiceUnreachable, read_body, refused

SERVICE = "GitHub"
VERSION = "2022-11-28"
LOOK_WITHIN_S = 5.0
"""The most seconds that reading may take, both attempts together."""
ACT_WITHIN_S = 8.0
"""The most seconds that posting may take."""
RETRY_AFTER_S = 0.3
PER_PAGE = 30
"""Objects per page: even the longest ones stay below the limit of an answer."""
PAGES_LIMIT = 3
"""The most pages of one list that are read."""
SAID_LIMIT = 200
"""The most characters of GitHub's own message that are passed on."""
REFUSALS = {
    401: "GitHub does not accept our token; the operator has to renew GITHUB__TOKEN.",
    403: "GitHub does not let our token do that.{said}",
    404: "There is no {what}, or our token may not see it.",
    410: "That is gone, or turned off: {what}.{said}",
    422: "GitHub does not accept it as it is.{said}",
    **dict.fromkeys((301, 302, 307, 308), "The {what} has moved to another place."),
}
"""HTTP status → the refusal in words; `said` is GitHub's own message."""

Method = Literal["GET", "POST", "PATCH"]
T = TypeVar("T")
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Unknown(ToolFailed):
    """A request was sent, and it is not known whether it arrived."""

    retryable = False


@dataclass(frozen=True, slots=True)
class GitHubAPI:
    """The API with the operator's token. The HTTP client's owner closes it."""

    http: httpx2.AsyncClient
    settings: GitHubSettings
    clock: Clock

    async def get(self, path: str, form: type[T], params: Mapping[str, Any] | None = None, *, what: str) -> T:
        """Read an object; `what` names it in errors. Raises `ServiceUnreachable`, or `ToolFailed` for a refusal."""
        twice = AsyncRetrying(
            retry=retry_if_exception_type((ServiceUnreachable, Unknown)),
            stop=stop_after_attempt(2),
            wait=wait_fixed(RETRY_AFTER_S),
            reraise=True,
        )
        try:
            async with asyncio.timeout(LOOK_WITHIN_S):
                return await twice(self._sent, "GET", path, form, what, params=params)
        except (TimeoutError, Unknown) as error:
            raise ServiceUnreachable(f"{SERVICE} does not answer.") from error

    async def pages(self, path: str, form: type[T], params: Mapping[str, Any], *, what: str) -> AsyncIterator[list[T]]:
        """Yield a list page by page, `PAGES_LIMIT` at most. Raises the errors of `get`."""
        for number in range(1, PAGES_LIMIT + 1):
            page = await self.get(path, list[form], {**params, "per_page": PER_PAGE, "page": number}, what=what)  # type: ignore[valid-type]
            yield page
            if len(page) < PER_PAGE:
                return

    async def send(self, method: Method, path: str, body: Mapping[str, str], form: type[T], *, what: str) -> T:
        """Send a request that changes something, once. Raises the errors of `get`, and `Unknown`."""
        try:
            async with asyncio.timeout(ACT_WITHIN_S):
                return await self._sent(method, path, form, what, body=body)
        except TimeoutError as error:
            raise Unknown(f"{SERVICE} does not answer.") from error
        except ServiceUnreachable as error:
            if isinstance(error.__cause__, _NEVER_SENT):
                raise
            raise Unknown(str(error)) from error  # after a 5xx or an unreadable answer, it may have been done

    async def _sent(
        self,
        method: Method,
        path: str,
        form: type[T],
        what: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        headers = {
            "accept": "application/vnd.github+json",
            "x-github-api-version": VERSION,
            "user-agent": "responder-thinker",
        }
        if (token := self.settings.token) is not None:
            headers["authorization"] = f"Bearer {token.get_secret_value()}"
        url = self.settings.base_url + path
        try:
            async with self.http.stream(
                method, url, params=params, json=body, headers=headers, follow_redirects=False
            ) as response:
                raw = await read_body(SERVICE, response)
        except _NEVER_SENT as error:
            raise ServiceUnreachable(f"{SERVICE} cannot be reached.") from error
        except httpx2.TimeoutException as error:
            raise Unknown(f"{SERVICE} does not answer.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unknown(f"The connection to {SERVICE} was lost.") from error
        if response.status_code >= 300:
            raise trouble(response, raw, what, self.clock.time())
        try:
            return TypeAdapter(form).validate_json(raw)
        except ValidationError as error:
            raise ServiceUnreachable(f"{SERVICE} sent an answer that cannot be read.") from error


def trouble(response: httpx2.Response, raw: bytes, what: str, now: float) -> ToolFailed:
    """Return the failure of a request, in words for the user; `now` is Unix time in seconds."""
    status, words = response.status_code, _message(raw)
    said = f" It says: {' '.join(words.split())[:SAID_LIMIT]}" if words else ""
    if status in (403, 429) and (wait_s := _limited_for_s(response, words, now)) is not None:
        duration = f"{max(1, math.ceil(wait_s))} seconds" if wait_s < 90 else f"{math.ceil(wait_s / 60)} minutes"
        return refused(f"{SERVICE} accepts no more requests from us for about {duration}.")
    if status in REFUSALS:
        return refused(REFUSALS[status].format(what=what, said=said))
    if status >= 500:
        return ServiceUnreachable(f"{SERVICE} has an error of its own ({status}).")
    return refused(f"{SERVICE} refuses the request ({status}).{said}")


def _limited_for_s(response: httpx2.Response, words: str, now: float) -> float | None:
    """Return the seconds until the next request is allowed; None when no rate limit is the cause."""
    headers = response.headers
    if (after := _number(headers.get("retry-after"))) is not None:
        return after
    if headers.get("x-ratelimit-remaining") == "0":
        reset = _number(headers.get("x-ratelimit-reset"))
        return max(1.0, reset - now) if reset is not None else 60.0
    limited = response.status_code == 429 or "rate limit" in words.lower()
    return 60.0 if limited else None  # GitHub documents a minute for answers without a time


def _message(raw: bytes) -> str:
    """Return GitHub's own words about a refusal; empty where there are none."""
    try:
        return str(json.loads(raw)["message"])
    except (ValueError, TypeError, LookupError):
        return ""


def _number(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None  # other scripts have digits, too
