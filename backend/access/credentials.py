"""The headers of a request show who makes it: a token of an API key, a session's token, or a visitor's cookie.

A token that is none of ours counts as none here. A JSON Web Token that is not valid is refused here, so that its maker
learns why.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import Scope

from backend.access.access import Access
from backend.access.addresses import address_key, is_from_here
from backend.access.keys import ApiKeys, Signed, looks_signed
from backend.access.principal import USER_GRANTS, Grant, Principal, Tier
from backend.access.signatures import KnownUser, OpenedSession, Signatures, new_user
from backend.runtime.json_objects import Json

KEY_PROTOCOL = "openai-insecure-api-key."
"""What a subprotocol begins with that carries a key."""
OIDC_USER = "oidc."
"""How the accounts of users who have signed in begin; ids of visitors hold no dot."""
COOKIE = "caller"
OVER_TLS = "__Host-"
"""Browsers take a cookie with this prefix from this very host only, over TLS, and send it to no other."""

WriteRefusal = Callable[[str], bytes]
"""Writes the message that tells a client why it is refused."""
TokenSockets = Mapping[str, WriteRefusal]
"""Paths of WebSockets of clients that show their token in the address, as `?token=…`.

A page cannot choose the headers of a WebSocket, and learns nothing of a handshake that was refused. So these are
accepted, get the reason in a message of their protocol, and are closed.
"""


@dataclass(slots=True)
class Identity:
    """The caller, and what the answer has to tell their browser."""

    principal: Principal
    known: bool
    """Whether a valid cookie or a token came along; else the user id is new."""
    announce: bool
    """Whether the answer carries a cookie."""
    age_s: float = 0.0
    """Seconds since the cookie that came along was signed."""
    opened: OpenedSession | None = None
    """The session that the request's token opens."""
    account: str = ""
    """The visitor, or who has signed in: its cookies are revoked together. Empty where no cookie came along."""
    epoch: int = 0
    """How often the account's cookies had been revoked when the one that came along was made."""
    origin: str = ""
    """The only origin that may show the token; empty: none was claimed."""
    opens: Json | None = None
    """What an extension's own credential opens; None: the credential is another."""

    @property
    def user(self) -> str:
        """The user id under which the caller's data is stored."""
        return self.principal.user


@dataclass(frozen=True, slots=True)
class OwnCredential:
    """A credential that an extension makes and reads itself.

    It is shown as a token with `prefix` at `path` and below, by a program that has it and never by a browser of its own
    accord. So pages of every origin may show it, unless its identity names one.
    """

    path: str
    prefix: str
    identify: Callable[[HTTPConnection], Awaitable[Identity]]
    """Raises `NotAdmitted` for a credential that is not valid, and `MemoryUnavailable`."""

    def is_at(self, path: str) -> bool:
        """Return whether it may be shown there."""
        return path == self.path or path.startswith(f"{self.path}/")

    def is_shown(self, connection: HTTPConnection) -> bool:
        """Return whether a request shows one."""
        return self.is_at(connection.url.path) and (bearer(connection) or "").startswith(self.prefix)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Reads the credentials of requests."""

    signatures: Signatures
    access: Access
    keys: ApiKeys | None = None
    """None: tokens of API keys are not taken."""
    own: Sequence[OwnCredential] = ()
    """Those of extensions."""

    def identify(self, connection: HTTPConnection) -> Identity:
        """Return who makes the request. Raises `NotAdmitted` for a JSON Web Token that is not valid."""
        token, address = bearer(connection), address_key(connection)
        if token is None:
            return self._visitor(connection, address)
        if self.keys is not None and looks_signed(token):
            signed = self.keys.read(token)
            principal = _key_principal(signed, address)
            return Identity(principal, known=True, announce=False, origin=signed.claims.origin or "")
        visitor, opened = self._visitor(connection, address), self.signatures.opened(token)
        if opened is not None:
            visitor.opened, visitor.origin = opened, opened.origin
            if not visitor.known:
                visitor.announce, visitor.principal = False, _session_principal(address)
        return visitor

    def _visitor(self, connection: HTTPConnection, address: str, *, stranger: bool = False) -> Identity:
        """Return the principal of a browser, by its cookie if it has one and is no `stranger` all the same."""
        cookie = None if stranger else connection.cookies.get(cookie_name(connection.url.scheme))
        known = self.signatures.user(cookie)
        if known is not None and known.account.startswith(OIDC_USER):
            if "oidc" in self.access.modes and known.age_s < known.life_s:
                return _signed_in(known, address)
            known = None
        principal = Principal(
            user=known.user if known else new_user(),
            tier=self.access.tier_here if is_from_here(connection) else Tier.ANONYMOUS,
            grants=USER_GRANTS if "open" in self.access.modes else frozenset(),
            tools=None,
            address=address,
            credential="cookie" if known else "none",
        )
        identity = Identity(principal, known=known is not None, announce=known is None or known.ageing)
        if known is not None:
            identity.account, identity.epoch, identity.age_s = known.account, known.epoch, known.age_s
        return identity

    def forget_cookie(self, connection: HTTPConnection, identity: Identity) -> None:
        """Take the caller for somebody new: their cookie was revoked."""
        address = identity.principal.address
        identity.principal = self._visitor(connection, address, stranger=True).principal
        identity.known, identity.announce = False, identity.opened is None
        identity.account, identity.epoch = "", 0
        if identity.opened is not None:
            identity.principal = _session_principal(address)


def cookie_name(scheme: str, name: str = COOKIE) -> str:
    """Return the name that the cookie has in requests of `scheme`."""
    return f"{OVER_TLS}{name}" if scheme in ("https", "wss") else name


def bearer(connection: HTTPConnection) -> str | None:
    """Return the token of an `Authorization: Bearer` header, or of a WebSocket's subprotocol or address.

    Clients of the Realtime protocol name their key in a subprotocol, those of `TokenSockets` in the address.
    """
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    named = (name for name in connection.scope.get("subprotocols", ()) if name.startswith(KEY_PROTOCOL))
    if token_socket(connection.scope):
        return connection.query_params.get("token")
    return next(named, "").removeprefix(KEY_PROTOCOL) or None


def token_socket(scope: Scope) -> WriteRefusal | None:
    """Return what writes the refusal of this WebSocket; None where the token is not shown in the address."""
    if scope["type"] != "websocket" or "app" not in scope:
        return None
    sockets: TokenSockets = scope["app"].state.token_sockets
    return sockets.get(scope["path"])


def _signed_in(known: KnownUser, address: str) -> Identity:
    """Return the user who has signed in at the OpenID provider."""
    tier = Tier.OPERATOR if known.admin else Tier.SIGNED_IN
    grants = USER_GRANTS | {Grant.ADMIN} if known.admin else USER_GRANTS
    principal = Principal(known.user, tier, grants, None, address, "oidc")
    return Identity(principal, known=True, announce=False, age_s=known.age_s, account=known.account, epoch=known.epoch)


def _key_principal(signed: Signed, address: str) -> Principal:
    """Return the principal of a token. It may use the tools it names, whatever their tier."""
    named = signed.tools is not None or Grant.ADMIN in signed.grants
    return Principal(
        user=signed.user,
        tier=Tier.OPERATOR if named else Tier.SIGNED_IN,
        grants=signed.grants,
        tools=signed.tools,
        address=address,
        credential=f"key {signed.key}",
        conversation=signed.claims.conversation,
        budget=signed.claims.budget,
    )


def _session_principal(address: str) -> Principal:
    """Return the principal of one who holds a session's token only: it opens the call, not its owner's life."""
    return Principal(new_user(), Tier.ANONYMOUS, frozenset({Grant.CALL}), frozenset(), address, "session")
