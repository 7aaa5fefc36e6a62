"""The doors at `/mcp/`, `/mcp/copilot/` and `/mcp/external/`: who comes in, as whom, and on whose behalf.

The token decides. Each door takes the tokens of its kind of client, and no others: a program that was given a token for
strangers cannot knock at the inner door. A token may be bound to a user (`user:token` in the settings). One of the
internal kind that is not may name a user itself, in `X-On-Behalf-Of`: it belongs to a program of the operator, which
has asked the user who they are. Nobody else may.

Cookies mean nothing here, and a page that was tricked into calling has no token; beside that the SDK refuses foreign
`Host` and `Origin` headers. Each token may knock so often a minute (`Take`), whoever holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from backend.errors import TooMany
from backend.mcp.tokens import Bearer, Tokens
from backend.tools.base import Client

PATHS: dict[Client, str] = {"internal": "/mcp/", "copilot": "/mcp/copilot/", "external": "/mcp/external/"}
ON_BEHALF_OF = "x-on-behalf-of"
USER_ID = re.compile(r"[A-Za-z0-9._@-]{1,128}")
BEARER = "mcp.bearer"
"""Where the request's scope says who shows the token."""


Take = Callable[[str], None]
"""Spend one of a token's requests, named by its id. Raises `TooMany`."""


class Served(Protocol):
    """What stands behind the doors."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Refused(Exception):
    """Why somebody does not come in."""

    def __init__(self, status: int, message: str, hint: str, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.message = message
        self.hint = hint

    def response(self) -> Response:
        """In the one shape of errors."""
        headers = {"www-authenticate": "Bearer"} if self.status == 401 else {}
        if self.retry_after_s:
            headers["retry-after"] = str(self.retry_after_s)
        return JSONResponse({"error": {"message": self.message, "hint": self.hint}}, self.status, headers)


class Door:
    """One path, for one kind of client."""

    def __init__(self, client: Client, tokens: Tokens, served: Served | None, take: Take = lambda token: None) -> None:
        self._client: Client = client
        self._tokens = tokens
        self._served = served
        self._take = take

    def __repr__(self) -> str:
        return f"Door({self._client}, {'open' if self._tokens.configured(self._client) else 'walled up'})"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._served is None or not self._tokens.configured(self._client):
            setting = f"MCP__{self._client.upper()}_TOKENS"
            refused = Refused(
                404, "No tools are served here.", f"Set {setting} to serve them to {self._client} clients."
            )
            await refused.response()(scope, receive, send)
            return
        try:
            bearer = self._admit(Headers(scope=scope))
        except Refused as refused:
            await refused.response()(scope, receive, send)
            return
        await self._served({**scope, BEARER: bearer}, receive, send)

    def _admit(self, headers: Headers) -> Bearer:
        """Raises `Refused`."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        bearer = self._tokens.bearer(token.strip()) if scheme.lower() == "bearer" else None
        if bearer is None:
            raise Refused(401, "A token is needed.", "Send one of this server's tokens as Authorization: Bearer ….")
        if bearer.client != self._client:
            raise Refused(403, "This token is for another door.", f"It is good for {PATHS[bearer.client]}.")
        try:
            self._take(bearer.id)
        except TooMany as error:
            raise Refused(429, str(error), error.hint, error.retry_after_s) from None
        named = headers.get(ON_BEHALF_OF, "").strip()
        if not named or named == bearer.user_id:
            return bearer
        if bearer.client != "internal" or bearer.user_id:
            raise Refused(403, "This token may not act for somebody else.", f"Leave {ON_BEHALF_OF} out.")
        if not USER_ID.fullmatch(named):
            raise Refused(422, f"{ON_BEHALF_OF} holds no user id.", "Send the id as GET /api/me/export shows it.")
        return replace(bearer, user_id=named)
