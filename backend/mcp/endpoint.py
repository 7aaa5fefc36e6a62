"""The endpoints `/mcp/`, `/mcp/copilot/` and `/mcp/external/`, one for each kind of client.

As for every route, `backend.http.admission` decides who may enter: a program with a token of an API key and the grant.
Only a program with the grant `on_behalf` may name a user, in `X-On-Behalf-Of`: it belongs to the operator, and has
identified the user. The grants of the first two endpoints are for the operator's own programs, which reach the
operator's tools there.

Cookies grant nothing here, so a page that was tricked into calling has no access.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.principal import Grant, Principal, ToolScope
from backend.errors import BadRequest, Forbidden
from backend.tools.base import Client

PATHS: dict[Client, str] = {"internal": "/mcp/", "copilot": "/mcp/copilot/", "external": "/mcp/external/"}
ON_BEHALF_OF = "x-on-behalf-of"
OPERATORS: frozenset[Client] = frozenset({"internal", "copilot"})
"""The clients that are the operator's own programs."""
USER_ID = re.compile(r"[A-Za-z0-9._@-]{1,128}")
CALLER = "mcp.caller"
"""The key of the request's scope that holds the `McpCaller`."""


@dataclass(frozen=True, slots=True)
class McpCaller:
    """A caller of tools, which acts for the principal's user."""

    client: Client
    principal: Principal

    @property
    def id(self) -> str:
        """An id of the caller that does not reveal the user."""
        shown = f"{self.principal.credential} {self.principal.user}"
        return hashlib.sha256(shown.encode()).hexdigest()[:12]


class Endpoint:
    """One path, for one kind of client, over the SDK's application."""

    def __init__(self, client: Client, served: ASGIApp) -> None:
        self._client: Client = client
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._caller(Headers(scope=scope), scope["state"]["principal"])
        await self._served({**scope, CALLER: caller}, receive, send)

    def _caller(self, headers: Headers, principal: Principal) -> McpCaller:
        """Return the caller, with the user of the request. Raises `Forbidden` or `BadRequest`."""
        if self._client in OPERATORS:
            principal = replace(principal, scope=ToolScope.OPERATOR)
        named = headers.get(ON_BEHALF_OF, "").strip()
        if not named or named == principal.user:
            return McpCaller(self._client, principal)
        if Grant.ON_BEHALF not in principal.grants:
            raise Forbidden("This token may not act for another user.", hint=f"Leave {ON_BEHALF_OF} out.")
        if not USER_ID.fullmatch(named):
            hint = "Send the ID as GET /api/me/export shows it."
            raise BadRequest(f"{ON_BEHALF_OF} does not contain a user ID.", hint=hint)
        return McpCaller(self._client, replace(principal, user=named))
