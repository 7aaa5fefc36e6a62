"""Every visitor has an identity: a random user id in a signed cookie, made on the first visit.

A browser's fingerprint is only a hint. It is noted in memory; and where the operator asks for it
(IDENTIFY_BY_FINGERPRINT, for demonstrations) it gives a browser that lost its cookie its user id back. In that
mode a mere visit does not make an identity, only a call does: otherwise the page's own loading would always
have set a new cookie before the fingerprint could be asked.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.access import Access
from backend.access.principal import Principal
from backend.errors import BadRequest
from backend.http.auth import COOKIE_AGE_S, KnownUser, Signatures, new_user
from backend.http.headers import with_headers
from backend.http.limits import address_key
from backend.storage.memory import Memory, briefly
from backend.users.profile import UserProfile
from backend.users.profile_updates import AssumeTimeZone, update_profile

log = logging.getLogger(__name__)

COOKIE = "caller"
VISITS = frozenset({"/", "/index.html", "/mode", "/embedding", "/notification"})
MEMORY_WITHIN_S = 2
"""Seconds memory may take over a hint; it promises to fail within one."""


@dataclass(slots=True)
class Identity:
    """The caller. `known`: a valid cookie came along; `announce`: the answer carries a cookie."""

    principal: Principal
    known: bool
    announce: bool

    @property
    def user(self) -> str:
        """The user id under which the caller's data is stored."""
        return self.principal.user


class IdentityMiddleware:
    """Puts an `Identity` into the request's state, and its cookie into the answer when there is news."""

    def __init__(self, app: ASGIApp, signatures: Signatures, access: Access, *, visits_count: bool) -> None:
        self._app = app
        self._signatures = signatures
        self._access = access
        self._visits_count = visits_count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        known = self._signatures.user(connection.cookies.get(COOKIE))
        identity = Identity(
            self._visitor(connection, known),
            known=known is not None,
            announce=known is None or known.ageing,
        )
        scope.setdefault("state", {})["identity"] = identity

        def announce(headers: MutableHeaders) -> None:
            if identity.announce and self._is_visit(scope):
                headers.append("set-cookie", self._cookie(identity.user, scope["scheme"]))

        await self._app(scope, receive, with_headers(send, announce))

    def _visitor(self, connection: HTTPConnection, known: KnownUser | None) -> Principal:
        """Return the principal of a browser, by its cookie if it has one."""
        address = address_key(connection)
        forwarded = "x-forwarded-for" in connection.headers or "forwarded" in connection.headers
        return Principal(
            user=known.user if known else new_user(),
            tier=self._access.visitor_tier(address, forwarded=forwarded),
            grants=self._access.visitor_grants,
            tools=None,
            address=address,
            credential="cookie" if known else "none",
        )

    def _is_visit(self, scope: Scope) -> bool:
        path: str = scope["path"]
        if not self._visits_count and scope["method"] in ("GET", "HEAD"):
            return False
        return path in VISITS or path.startswith(("/api/", "/mode/", "/notification/"))

    def _cookie(self, user: str, scheme: str) -> str:
        secure = "; Secure" if scheme == "https" else ""
        return (
            f"{COOKIE}={self._signatures.cookie(user)}; Path=/; Max-Age={COOKIE_AGE_S}; HttpOnly; SameSite=Lax{secure}"
        )


async def restore(identity: Identity, fingerprint: str | None, memory: Memory) -> None:
    """Give a browser without a cookie the user id its fingerprint was last seen with. Never fails."""
    if not identity.known and fingerprint is not None:
        warning = "a caller known by fingerprint gets a new identity"
        asked = memory.user_of_fingerprint(fingerprint)
        user = await briefly(asked, None, within_s=MEMORY_WITHIN_S, warning=warning)
        if user:
            identity.principal = replace(identity.principal, user=user)


async def note_fingerprint(memory: Memory, fingerprint: str, user: str) -> None:
    """Remember the hint. Runs after the answer is sent; a memory that is gone costs the hint only."""
    noted = memory.link_fingerprint(fingerprint, user)
    await briefly(noted, None, within_s=MEMORY_WITHIN_S, warning="a fingerprint could not be noted")


async def note_time_zone(memory: Memory, zone: str, user: str) -> None:
    """Take the browser's zone for the user's until they state one: "at nine" means theirs. Never fails."""
    try:
        noted = update_profile(memory, user, AssumeTimeZone(zone))
    except BadRequest:
        log.info("a browser's time zone is unknown here")
    else:
        await briefly(noted, UserProfile(), within_s=MEMORY_WITHIN_S, warning="a time zone could not be noted")
