"""The grant that each route asks for: one table, which each request, WebSocket and stream passes.

Extensions add their paths. The longest prefix that a path begins with decides. A path that none names but the last is
a file of the page.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import replace

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.access import Access
from backend.access.credentials import bearer
from backend.access.principal import MCP_GRANTS, Grant, Principal, Tier
from backend.errors import CallerError, Forbidden, NotAdmitted, NotFound, TooMany
from backend.http.context import context_of, identity_of, principal_of
from backend.http.errors import refuse
from backend.http.on_behalf import HEADER, may_name_user, speak_by_header

Grants = Mapping[str, Grant | None]

GRANTS: Grants = {
    "/api/rtc": Grant.CALL,
    "/api/sessions": Grant.CALL,
    "/api/events": Grant.CALL,
    "/ws": None,  # the session's token is its first message
    "/api/multiturn": Grant.CHAT,
    "/api/singleturn": Grant.CHAT,
    "/api/conversations": Grant.CHAT,
    "/api/confirmations": None,  # consent to an act that somebody with a grant has asked for
    "/api/tools": Grant.CHAT,
    "/api/reasoning": Grant.REASON,
    "/embedding": Grant.EMBED,
    "/api/tasks": Grant.TASKS,
    "/api/input": Grant.TASKS,
    "/api/status": Grant.TASKS,
    "/notification": Grant.NOTIFY,
    "/api/me": Grant.MEMORY,
    "/mode": Grant.MEMORY,
    "/api/admin": Grant.ADMIN,
    "/mcp": Grant.MCP,
    "/mcp/copilot": Grant.MCP_COPILOT,
    "/mcp/external": Grant.MCP_EXTERNAL,
    "/api/config": None,
    "/api/openapi.json": None,
    "/openapi.json": None,
    "/healthz": None,
    "/readyz": None,
    "/metrics": None,
    "/": None,
}
"""Beginning of a path, up to a slash or its end → the grant it asks for; None: open to all."""


def grant_for(path: str, grants: Grants = GRANTS) -> tuple[str, Grant | None]:
    """Return the prefix in the table that decides about `path`, and the grant."""
    prefix = path.rstrip("/")
    while prefix and prefix not in grants:
        prefix = prefix.rpartition("/")[0]
    return prefix or "/", grants[prefix or "/"]


class GrantCheck:
    """Middleware: refuses a request of a principal without the grant of its route."""

    def __init__(self, app: ASGIApp, access: Access, grants: Grants) -> None:
        self._app = app
        self._access = access
        self._grants = grants

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        prefix, grant = grant_for(scope["path"], self._grants)
        scope["state"]["prefix"] = prefix
        connection = HTTPConnection(scope)
        refusal = await self._refusal_of(connection, prefix, grant)
        if refusal is not None:
            await refuse(refusal, scope, receive, send)
            return
        scope["state"]["principal"] = principal_of(connection)  # for applications that are no routes of ours
        await self._app(scope, receive, send)

    async def _refusal_of(self, connection: HTTPConnection, prefix: str, grant: Grant | None) -> CallerError | None:
        """Return why the request is not admitted to the route; None: it is."""
        if HEADER in connection.headers:
            try:
                speak_by_header(connection, grant)
            except CallerError as error:
                return error
        principal = principal_of(connection)
        if grant is None or grant in principal.grants or may_name_user(principal, prefix):
            return None
        if grant is Grant.ADMIN:
            return await _admin_refusal(connection)
        return self._refusal(principal, grant)

    def _refusal(self, principal: Principal, grant: Grant) -> CallerError:
        if grant in MCP_GRANTS and "key" not in self._access.modes:
            hint = f"Add key to ACCESS, and set API_KEYS: their tokens with the grant {grant} open this path."
            return NotFound("The server offers no tools to programs.", hint=hint)
        if principal.credential not in ("none", "cookie"):
            return Forbidden(f"This token or key does not grant {grant}.", hint="Ask the operator for one that does.")
        ways = {"oidc": "sign in at /auth/login", "key": "send a token signed by one of API_KEYS"}
        hint = " or ".join(words for mode, words in ways.items() if mode in self._access.modes)
        return NotAdmitted("This server requires a token.", hint=f"{hint[:1].upper()}{hint[1:]}.")


async def _admin_refusal(connection: HTTPConnection) -> CallerError | None:
    """Return None for the bearer of ADMIN_TOKEN, or why this caller is no operator. A wrong token is counted."""
    here, identity = context_of(connection), identity_of(connection)
    if identity.principal.credential.startswith("key "):
        return Forbidden(
            "This token does not allow access to the admin page.", hint="Use ADMIN_TOKEN, or a token that does."
        )
    address, hint = identity.principal.address, "It is ADMIN_TOKEN in the server's settings."
    secret, attempt = here.services.settings.access.admin_token, bearer(connection)
    if secret is None and here.services.people.access.modes == {"open"}:
        return NotFound("The admin page is off.", hint="Set ADMIN_TOKEN to 16 characters or more, and restart.")
    if attempt is None:
        return NotAdmitted("The admin page requires a token.", hint=hint)
    try:
        await here.attempts.check(address, here.now())
        if secret is not None and hmac.compare_digest(attempt.encode(), secret.get_secret_value().encode()):
            as_admin = {"grants": frozenset({Grant.ADMIN}), "tier": Tier.OPERATOR, "credential": "key admin"}
            identity.principal = replace(identity.principal, **as_admin)  # type: ignore[arg-type]
            return None
        await here.attempts.take(address, here.now())
    except TooMany as error:
        return error
    return NotAdmitted("The token is wrong.", hint=hint)
