"""The endpoints `/mcp/`, `/mcp/copilot/` and `/mcp/external/`, one for each kind of client.

As for every route, `backend.http.admission` decides who may enter, a program with a token of an API key and the grant,
and for which user it acts. The grants of the first two endpoints are for the operator's own programs, which reach the
operator's tools there.

Cookies grant nothing here, so a page that was tricked into calling has no access.
"""

import hashlib
from dataclasses import dataclass, replace

from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.principal import Principal, ToolScope
from backend.tools.base import Client

PATHS: dict[Client, str] = {"internal": "/mcp/", "copilot": "/mcp/copilot/", "external": "/mcp/external/"}
OPERATORS: frozenset[Client] = frozenset({"internal", "copilot"})
"""The clients that are the operator's own programs."""
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
        principal: Principal = scope["state"]["principal"]
        if self._client in OPERATORS:
            principal = replace(principal, scope=ToolScope.OPERATOR)
        await self._served({**scope, CALLER: McpCaller(self._client, principal)}, receive, send)
