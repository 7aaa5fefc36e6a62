"""Programs may speak for the users of another platform: a chat bot, for example, names its user in each request.

The bearer of a token with the grant `on_behalf` names the user in the body of a typed turn (`user_id` and `platform`),
or in the header `X-On-Behalf-Of: platform:user`; over MCP also `X-On-Behalf-Of: user`. All of them are users of the
program's own key (`access/tenants.py`).
"""

import re
from dataclasses import replace

from starlette.requests import HTTPConnection

from backend.access.principal import MCP_GRANTS, USER_GRANTS, Grant, ToolScope
from backend.access.tenants import Tenant
from backend.errors import BadRequest, Forbidden
from backend.http.context import context_of, identity_of

HEADER = "x-on-behalf-of"
USER_LIMIT = 128
GRANTS = USER_GRANTS - {Grant.CALL}
"""What a program may do for the user it speaks for, in addition to its own grants."""
TURNS = ("/api/multiturn", "/api/singleturn")
"""The paths at which the body may name the user."""
PLATFORM_USER = re.compile(r"([A-Za-z0-9_.-]{1,32}):(.{1,128})", re.ASCII | re.DOTALL)
"""A platform and its user. Both names must be there and within their limits: they make the user id."""
USER_ID = re.compile(r"[A-Za-z0-9._@-]{1,128}", re.ASCII)


async def tenant_at(connection: HTTPConnection) -> Tenant | None:
    """Return the tenant of a program that may name users; None: this caller may not. Raises `MemoryUnavailable`."""
    principal = identity_of(connection).principal
    if Grant.ON_BEHALF not in principal.grants:
        return None
    heir = await context_of(connection).services.people.access_store.heir()
    return Tenant(principal.key, heir == principal.key, Grant.ADMIN in principal.grants)


async def speak_for(connection: HTTPConnection, platform: str, user_id: str) -> None:
    """Make a platform's user the principal of this request. Raises `Forbidden`."""
    _act_for(connection, (await _tenant(connection)).platform_user(platform, user_id))


async def speak_by_header(connection: HTTPConnection, grant: Grant | None) -> None:
    """Make the user in the header the principal of this request, if the request needs only a user's grant.

    Over MCP, the program keeps its own grants. Raises `BadRequest` or `Forbidden`.
    """
    named, identity = connection.headers.get(HEADER, "").strip(), identity_of(connection)
    over_mcp = grant in MCP_GRANTS
    if named in ("", identity.user) or not (grant is None or grant in GRANTS or over_mcp):
        return
    tenant = await _tenant(connection)
    if found := PLATFORM_USER.fullmatch(named):
        user = tenant.platform_user(*found.groups())
    elif over_mcp and USER_ID.fullmatch(named):
        user = tenant.user(named)
    else:
        hint = "Write platform:user, e.g. discord:80351110224678912; over MCP, a user ID will do."
        raise BadRequest("X-On-Behalf-Of names no user.", hint=hint)
    if over_mcp:
        identity.principal = replace(identity.principal, user=user)
    else:
        _act_for(connection, user)


def _act_for(connection: HTTPConnection, user: str) -> None:
    identity = identity_of(connection)
    identity.principal = replace(identity.principal, user=user, scope=ToolScope.SIGNED_IN, grants=GRANTS)


async def _tenant(connection: HTTPConnection) -> Tenant:
    tenant = await tenant_at(connection)
    if tenant is None:
        raise Forbidden(
            "Only the operator's programs may act for a user.",
            hint="Leave user_id and X-On-Behalf-Of out, or send a token that grants on_behalf.",
        )
    return tenant
