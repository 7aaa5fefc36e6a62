"""The endpoints `/mcp/`, `/mcp/copilot/` and `/mcp/external/`: authentication, and the user a client acts for.

The token decides. Each endpoint accepts the tokens of its kind of client and no others: a program with a token for
third parties cannot use the internal endpoint. A token may be bound to a user (`user:token` in the settings). An
internal token that is not bound may name a user itself, in `X-On-Behalf-Of`: it belongs to a program of the operator,
which has asked the user who they are. No other token may.

`/mcp/external/` also takes a token that an API key has signed, if it names tools: those, and for its own user.

Cookies are ignored here, and a page that was tricked into calling has no token; in addition the SDK refuses foreign
`Host` and `Origin` headers. Requests per token and minute are limited (`RateLimit`). Only digests of tokens are kept,
and all of them are compared in constant time, so that the duration of a refusal reveals nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.principal import Principal
from backend.access.reach import Reach
from backend.errors import TooMany
from backend.settings.mcp import McpSettings, pairs
from backend.tools.base import Client

PATHS: dict[Client, str] = {"internal": "/mcp/", "copilot": "/mcp/copilot/", "external": "/mcp/external/"}
ON_BEHALF_OF = "x-on-behalf-of"
USER_ID = re.compile(r"[A-Za-z0-9._@-]{1,128}")
BEARER = "mcp.bearer"
"""The key of the request's scope that holds the `Bearer`."""
TOKEN_LIMIT = 512
"""Characters of a token that are read."""

RateLimit = Callable[[str], None]
"""Spend one of a token's requests, named by its id. Raise `TooMany`."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """The owner of a token. `id` identifies the token without revealing it; `user_id` is empty where it is bound to
    nobody."""

    client: Client
    id: str
    user_id: str
    reach: Reach | None = None
    """The tools that a token of an API key names; None: those of its kind of client."""


class Tokens:
    """The tokens of each kind of client."""

    def __init__(self, settings: McpSettings) -> None:
        self._known = [
            (_digest(token), Bearer(client, _digest(token).hex()[:12], user))
            for client in PATHS
            for user, token in pairs(getattr(settings, f"{client}_tokens"))
        ]

    def __repr__(self) -> str:
        return f"Tokens({len(self._known)})"

    def configured(self, client: Client) -> bool:
        """Return True if this kind of client has any token."""
        return any(bearer.client == client for _, bearer in self._known)

    def bearer(self, token: str) -> Bearer | None:
        """Return the token's owner; None for an unknown token."""
        digest = _digest(token[:TOKEN_LIMIT])
        matches = [bearer for known, bearer in self._known if hmac.compare_digest(known, digest)]
        return matches[0] if matches else None


class AccessDenied(Exception):
    """The refusal of a request, as an HTTP status with a message and a hint."""

    def __init__(self, status: int, message: str, hint: str, **headers: str) -> None:
        super().__init__(message)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = JSONResponse({"error": {"message": message, "hint": hint}}, status, named)
        """The refusal in the server's one form of errors."""


class Endpoint:
    """One path, for one kind of client. `served` is the SDK's application; None: no tools are served."""

    def __init__(
        self, client: Client, tokens: Tokens, served: ASGIApp | None, rate_limit: RateLimit = lambda token: None
    ) -> None:
        self._client: Client = client
        self._tokens = tokens
        self._served = served if tokens.configured(client) else None
        self._rate_limit = rate_limit

    def __repr__(self) -> str:
        return f"Endpoint({self._client}, {'open' if self._served else 'closed'})"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if self._served is None:
                setting = f"MCP__{self._client.upper()}_TOKENS"
                raise AccessDenied(
                    404, "No tools are served here.", f"Set {setting} to serve them to {self._client} clients."
                )
            bearer = self._authenticate(Headers(scope=scope), scope.get("state", {}).get("principal"))
        except AccessDenied as denied:
            await denied.response(scope, receive, send)
        else:
            await self._served({**scope, BEARER: bearer}, receive, send)

    def _authenticate(self, headers: Headers, principal: Principal | None) -> Bearer:
        """Return the token's owner, with the user the request is for. Raise `AccessDenied`."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        bearer = self._tokens.bearer(token.strip()) if scheme.lower() == "bearer" else None
        bearer = bearer or _bearer_of_key(principal)
        if bearer is None:
            hint = "Send a token of this server as Authorization: Bearer …."
            raise AccessDenied(401, "A token is needed.", hint, www_authenticate="Bearer")
        if bearer.client != self._client:
            raise AccessDenied(403, "This token is for another path.", f"It is valid for {PATHS[bearer.client]}.")
        try:
            self._rate_limit(bearer.id)
        except TooMany as error:
            raise AccessDenied(429, str(error), error.hint, retry_after=str(error.retry_after_s)) from None
        named = headers.get(ON_BEHALF_OF, "").strip()
        if not named or named == bearer.user_id:
            return bearer
        if bearer.client != "internal" or bearer.user_id:
            raise AccessDenied(403, "This token may not act for another user.", f"Leave {ON_BEHALF_OF} out.")
        if not USER_ID.fullmatch(named):
            raise AccessDenied(422, f"{ON_BEHALF_OF} holds no user id.", "Send the id as GET /api/me/export shows it.")
        return replace(bearer, user_id=named)


def _bearer_of_key(principal: Principal | None) -> Bearer | None:
    """Return the bearer of a token that an API key has signed and that names tools: a third party's client."""
    if principal is None or principal.tools is None or not principal.credential.startswith("key "):
        return None
    user = hashlib.sha256(principal.user.encode()).hexdigest()[:12]
    return Bearer("external", f"key-{user}", principal.user, Reach.of(principal))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
