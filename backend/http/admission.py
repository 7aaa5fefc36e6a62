"""Admission finds the identity behind each request, WebSocket and stream, and checks its grants.

Every visitor has an identity: a random user id in a signed cookie, made on the first visit.

With IDENTIFY_BY_FINGERPRINT (for demonstrations), the browser's fingerprint gives the user id of a caller without a
cookie. Then a visit alone creates no identity, only a call does: otherwise the page would set a cookie while it loads,
before the server can ask for the fingerprint.

One table says which grant a path needs; extensions add their paths. The longest matching prefix decides. A path that
only the last entry matches is a file of the page.
"""

import hmac
from collections.abc import Mapping
from dataclasses import replace

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.access import Access
from backend.access.credentials import COOKIE, COOKIE_AGE_S, Credentials, Identity, bearer, cookie_name
from backend.access.principal import MCP_GRANTS, Grant, Principal, ToolScope
from backend.access.store import AccessStore
from backend.errors import Forbidden, NotAdmitted, NotFound, TooMany, VoiceError
from backend.http.context import admits_new_user, context_of, identity_of, principal_of
from backend.http.errors import refuse
from backend.http.headers import with_headers
from backend.http.on_behalf import HEADER, TURNS, speak_by_header

Grants = Mapping[str, Grant | None]

GRANTS: Grants = {
    "/api/rtc": Grant.CALL,
    "/api/sessions": Grant.CALL,
    "/api/events": Grant.CALL,
    "/ws": None,  # The session's token is the first message.
    "/api/multiturn": Grant.CHAT,
    "/api/singleturn": Grant.CHAT,
    "/api/conversations": Grant.CHAT,
    "/api/confirmations": None,  # It answers a question that a caller with a grant has caused.
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
"""Beginning of a path, up to a slash or its end → the grant it needs; None: open to all."""


def grant_for(path: str, grants: Grants = GRANTS) -> tuple[str, Grant | None]:
    """Return the prefix in the table that decides on `path`, and the grant that it needs."""
    prefix = path.rstrip("/")
    while prefix and prefix not in grants:
        prefix = prefix.rpartition("/")[0]
    return prefix or "/", grants[prefix or "/"]


VISITS = frozenset({"/", "/index.html", "/mode", "/embedding", "/notification"})
READERS = "/api/shared/"
"""Beginning of the paths that readers without an identity may open."""
RETRY_S = 3600
"""Seconds after which a caller without a cookie should try again."""


class Admission:
    """This middleware puts an `Identity` into the request's state, and a new or renewed cookie into the response.

    It refuses requests of principals without the grant of the route.
    """

    def __init__(
        self, app: ASGIApp, credentials: Credentials, store: AccessStore, grants: Grants, *, visits_count: bool
    ) -> None:
        self._app = app
        self._store = store
        self._credentials = credentials
        self._grants = grants
        self._visits_count = visits_count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            identity = await self._identify(scope)
            if identity.origin and Headers(scope=scope).get("origin") != identity.origin:
                raise Forbidden(
                    "This token was made for pages of another origin.", hint="Create one for this page's origin."
                )
            # A visit makes a new user only if its response sets a cookie.
            if identity.announce and not identity.known and self._is_visit(scope):
                await self._make_user(scope, identity)
        except VoiceError as error:
            await refuse(error, scope, receive, send)
            return

        def announce(headers: MutableHeaders) -> None:
            if identity.announce and self._is_visit(scope):
                headers.append("set-cookie", self._cookie(identity, scope["scheme"]))

        send = with_headers(send, announce)
        try:
            await self._require_grant(scope)
        except VoiceError as error:
            await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _identify(self, scope: Scope) -> Identity:
        """Return the identity of the request; a revoked cookie is ignored. Raises `VoiceError`, as for a void token."""
        connection = HTTPConnection(scope)
        for own in self._credentials.own:
            if own.is_shown(connection):
                shown = scope.setdefault("state", {})["identity"] = await own.identify(connection)
                return shown
        identity = identity_in(scope, self._credentials)
        if identity.account:
            revoked = await self._store.is_revoked(identity.account, identity.epoch)
            if revoked is None:
                identity.doubtful, identity.principal = True, identity.principal.as_user()
            elif revoked:
                self._credentials.forget(connection, identity)
        return identity

    async def _make_user(self, scope: Scope, identity: Identity) -> None:
        """Count a new user at the caller's address. Beyond its limit, pages are shown without a cookie.

        Raises `TooMany` for a request that would act as the new user.
        """
        if await admits_new_user(HTTPConnection(scope)):
            return
        identity.announce = False
        if scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD"):
            hint = "Allow cookies, sign in, or come back tomorrow."
            raise TooMany("Too many new users come from your address.", retry_after_s=RETRY_S, hint=hint)

    def _is_visit(self, scope: Scope) -> bool:
        path: str = scope["path"]
        if not self._visits_count and scope["method"] in ("GET", "HEAD"):
            return False
        if path.startswith(READERS):
            return False
        return path in VISITS or path.startswith(("/api/", "/mode/", "/notification/"))

    def _cookie(self, identity: Identity, scheme: str) -> str:
        """Return the header. Over TLS, the cookie's name is one that no other host can set (RFC 6265bis, 4.1.3.2)."""
        value = self._credentials.signatures.cookie(identity.user, identity.epoch)
        return set_cookie(scheme, value, COOKIE_AGE_S)

    async def _require_grant(self, scope: Scope) -> None:
        """Raise the refusal of a request that is not admitted to its route."""
        connection = HTTPConnection(scope)
        prefix, grant = grant_for(scope["path"], self._grants)
        scope["state"]["prefix"] = prefix
        program = principal_of(connection)
        if HEADER in connection.headers:
            await speak_by_header(connection, grant)
        principal = principal_of(connection)
        # A program may lack the grant itself if its body names a user who has it.
        names_user = prefix in TURNS and Grant.ON_BEHALF in principal.grants
        if grant is Grant.ADMIN and grant not in principal.grants:
            await _require_admin(connection)
        elif grant is not None and grant not in principal.grants and not names_user:
            raise _refusal(principal, grant, self._credentials.access)
        elif grant in MCP_GRANTS:
            here = context_of(connection)
            await here.programs.take(f"{program.credential} {program.user}", here.now())
        scope["state"]["principal"] = principal_of(connection)  # for mounted applications, which are no routes


def set_cookie(scheme: str, value: str, age_s: int, name: str = COOKIE, path: str = "/") -> str:
    """Return the header that makes a browser keep `value` for `age_s` seconds; 0: delete it.

    Browsers bind a cookie to this host only if it is for the whole host.
    """
    secure, name = "; Secure" if scheme == "https" else "", cookie_name(scheme, name) if path == "/" else name
    return f"{name}={value}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite=Lax{secure}"


def identity_in(scope: Scope, credentials: Credentials) -> Identity:
    """Return the identity of the request, read once. Raises `NotAdmitted` for an invalid JSON Web Token."""
    state = scope.setdefault("state", {})
    if "identity" not in state:
        state["identity"] = credentials.identify(HTTPConnection(scope))
    identity: Identity = state["identity"]
    return identity


def _refusal(principal: Principal, grant: Grant, access: Access) -> VoiceError:
    if grant in MCP_GRANTS and "key" not in access.modes:
        hint = f"Add key to ACCESS, and set API_KEYS: tokens of these keys with the grant {grant} open this path."
        return NotFound("The server offers no tools to programs.", hint=hint)
    if principal.credential not in ("none", "cookie"):
        return Forbidden(f"This token or key does not grant {grant}.", hint="Ask the operator for one that does.")
    ways = {"oidc": "sign in at /auth/login", "key": "send a token signed by one of API_KEYS"}
    hint = " or ".join(words for mode, words in ways.items() if mode in access.modes)
    return NotAdmitted("This server requires a token.", hint=f"{hint[:1].upper()}{hint[1:]}.")


async def _require_admin(connection: HTTPConnection) -> None:
    """Make the bearer of ADMIN_TOKEN an operator. Refuses all others, and counts wrong tokens."""
    here, identity = context_of(connection), identity_of(connection)
    if identity.principal.key:
        raise Forbidden(
            "This token does not allow access to the admin page.", hint="Use ADMIN_TOKEN, or a token that does."
        )
    address = identity.principal.address
    hint = "It is ADMIN_TOKEN in the server's settings. An operator who has signed in does so again after an hour."
    secret, attempt = here.services.settings.access.admin_token, bearer(connection)
    if secret is None and here.services.people.access.modes == {"open"}:
        raise NotFound("The admin page is off.", hint="Set ADMIN_TOKEN to 16 characters or more, and restart.")
    if attempt is None:
        raise NotAdmitted("The admin page requires a token.", hint=hint)
    await here.attempts.check(address, here.now())
    if secret is not None and hmac.compare_digest(attempt.encode(), secret.get_secret_value().encode()):
        as_admin = {"grants": frozenset({Grant.ADMIN}), "scope": ToolScope.OPERATOR, "credential": "admin token"}
        identity.principal = replace(identity.principal, **as_admin)  # type: ignore[arg-type]
        return
    await here.attempts.take(address, here.now())
    raise NotAdmitted("The token is wrong.", hint=hint)
