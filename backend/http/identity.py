"""Every visitor has an identity: a random user id in a signed cookie, made on the first visit.

Where the operator asks for it (IDENTIFY_BY_FINGERPRINT, for demonstrations), a browser's fingerprint makes the user id
of a caller without a cookie. In that mode a mere visit makes no identity, only a call does: otherwise the page's own
loading would have set a cookie before the fingerprint could be asked.
"""

from __future__ import annotations

import logging

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.credentials import COOKIE, COOKIE_AGE_S, Credentials, Identity, cookie_name
from backend.access.store import AccessStore
from backend.errors import BadRequest, Forbidden, TooMany, VoiceError
from backend.http.context import admits_new_user
from backend.http.errors import refuse
from backend.http.headers import with_headers
from backend.storage.memory import Memory, briefly
from backend.users.profile import UserProfile
from backend.users.profile_updates import AssumePreference, update_profile

log = logging.getLogger(__name__)

VISITS = frozenset({"/", "/index.html", "/mode", "/embedding", "/notification"})
READERS = "/api/shared/"
"""Beginning of the paths of what is read by those who need no identity."""
RETRY_S = 3600
"""Seconds after which a caller without a cookie should try again."""
MEMORY_WITHIN_S = 2
"""Seconds memory may take over a hint; it promises to fail within one."""


class IdentityMiddleware:
    """Puts an `Identity` into the request's state, and its cookie into the answer when there is news."""

    def __init__(
        self,
        app: ASGIApp,
        credentials: Credentials,
        store: AccessStore,
        *,
        visits_count: bool,
    ) -> None:
        self._app = app
        self._store = store
        self._credentials = credentials
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
            if identity.announce and not identity.known and self._is_visit(scope):
                await self._make_user(scope, identity)
        except VoiceError as error:
            await refuse(error, scope, receive, send)
            return

        def announce(headers: MutableHeaders) -> None:
            if identity.announce and self._is_visit(scope):
                headers.append("set-cookie", self._cookie(identity, scope["scheme"]))

        await self._app(scope, receive, with_headers(send, announce))

    async def _identify(self, scope: Scope) -> Identity:
        """Return who makes the request; a cookie that was revoked counts for nothing. Raises `VoiceError`."""
        connection = HTTPConnection(scope)
        for own in self._credentials.own:
            if own.is_shown(connection):
                shown = scope.setdefault("state", {})["identity"] = await own.identify(connection)
                return shown
        identity = identity_in(scope, self._credentials)
        if identity.principal.credential in ("cookie", "oidc"):
            epoch = await self._store.epoch(identity.account)
            if epoch is None:  # what the cookie of a user could open stands in the same Redis, as far away
                identity.principal = identity.principal.as_user()
            elif epoch != identity.epoch:
                self._credentials.forget_cookie(connection, identity)
        return identity

    async def _make_user(self, scope: Scope, identity: Identity) -> None:
        """Count a new user of the caller's address; over its limit, pages are shown without a cookie.

        Raises `TooMany` for a request that would do something as that user.
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
        """Return the header: over TLS under a name that no other host of the domain can set (RFC 6265bis, 4.1.3.2)."""
        value = self._credentials.signatures.cookie(identity.user, identity.epoch)
        return set_cookie(scheme, value, COOKIE_AGE_S)


def set_cookie(scheme: str, value: str, age_s: int, name: str = COOKIE) -> str:
    """Return the header that makes a browser keep `value` for `age_s` seconds; 0: drop it."""
    secure = "; Secure" if scheme == "https" else ""
    return f"{cookie_name(scheme, name)}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Lax{secure}"


def identity_in(scope: Scope, credentials: Credentials) -> Identity:
    """Return who makes the request, read once. Raises `NotAdmitted` for a JSON Web Token that is not valid."""
    state = scope.setdefault("state", {})
    if "identity" not in state:
        state["identity"] = credentials.identify(HTTPConnection(scope))
    identity: Identity = state["identity"]
    return identity


async def note_time_zone(memory: Memory, zone: str, user: str) -> None:
    """Take the browser's zone for the user's until they state one: "at nine" means theirs. Never fails."""
    try:
        noted = update_profile(memory, user, AssumePreference("time_zone", zone))
    except BadRequest:
        log.info("a browser's time zone is unknown here")
    else:
        await briefly(noted, UserProfile(), within_s=MEMORY_WITHIN_S, warning="a time zone could not be noted")
