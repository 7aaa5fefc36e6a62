"""The credentials of a request say who makes it: a token of an API key, a session's token, or a visitor's cookie.

Cookies and session tokens are signatures over a value and a time. Each has its own salt: neither can pass for the
other.

An unknown kind of token is ignored. An invalid JSON Web Token is refused, and the refusal says why.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from itsdangerous import BadSignature, TimestampSigner
from starlette.requests import HTTPConnection
from starlette.types import Scope

from backend.access.access import Access
from backend.access.addresses import address_key, is_from_here
from backend.access.keys import TOOLS, ApiKeys, VerifiedToken, looks_signed
from backend.access.principal import KEY, USER_GRANTS, Grant, Principal, ToolScope
from backend.errors import NotAdmitted
from backend.runtime.json_objects import Json
from backend.settings.settings import Settings

KEY_PROTOCOL = "openai-insecure-api-key."
"""The beginning of a WebSocket subprotocol that carries a key."""
OIDC_USER = "oidc."
"""The beginning of the accounts of users who have signed in. Ids of visitors hold no dot."""
COOKIE = "caller"
OVER_TLS = "__Host-"
"""Browsers accept a cookie with this prefix only over TLS and from the host itself, and send it to no other host."""

COOKIE_AGE_S = 400 * 86_400
"""Seconds an identity lasts after its last renewal; browsers keep no cookie longer."""
RENEW_AFTER_S = 30 * 86_400
"""Seconds after which an identity is signed again on the next visit."""
ADMIN_AGE_S = 3_600
"""Seconds for which a sign-in makes an operator. Then the provider is asked again, which may have changed its mind."""
TOKEN_GRACE_S = 600
"""Seconds a token outlives the longest call, so that the end of the call can still be read."""
TOKEN_AGE_UNLIMITED_S = 86_400
"""Seconds a token lives when calls have no limit."""
BETWEEN = "|"
"""The separator between the parts of a signed value; it occurs in none of them."""
ADMIN = "admin"
LONGEST = 640
"""The most characters of a signed value; longer ones are ignored unread."""

WriteRefusal = Callable[[str], bytes]
"""Returns the message that tells a client why it is refused."""
TokenSockets = Mapping[str, WriteRefusal]
"""Paths of WebSockets that take the client's token in the address, as `?token=…`.

A page cannot set the headers of a WebSocket, and cannot read why a handshake was refused. The server therefore accepts
these WebSockets, sends the reason in a message of their protocol, and closes them.
"""


@dataclass(frozen=True, slots=True)
class KnownUser:
    """The user named by a valid cookie."""

    account: str
    """The visitor, or the user who has signed in."""
    age_s: float
    """Seconds since the cookie was signed."""
    epoch: int = 0
    """The account's epoch when the cookie was signed; the cookie is void once the epoch differs."""
    admin: bool = False
    """Whether the OpenID provider named the user as an operator."""
    data: str = ""
    """The id under which the account's data is stored; empty: the account's own id."""
    life_s: int = 0
    """Seconds a sign-in lasts."""

    @property
    def user(self) -> str:
        """The user id under which the user's data is stored."""
        return self.data or self.account

    @property
    def ageing(self) -> bool:
        """Return whether the cookie should be signed again."""
        return self.age_s > RENEW_AFTER_S


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """The session that a token opens, and the only origin that may show the token; empty: any origin."""

    session_id: str
    origin: str


@dataclass(slots=True)
class Identity:
    """The caller, and what the response must set in the caller's browser."""

    principal: Principal
    known: bool
    """Whether the request has a valid cookie or a token; otherwise the user id is new."""
    announce: bool
    """Whether the response sets a cookie."""
    age_s: float = 0.0
    """Seconds since the request's cookie was signed."""
    opened: OpenedSession | None = None
    """The session that the request's token opens."""
    account: str = ""
    """The visitor or signed-in user; all cookies of an account are revoked together. The token of an API key is an
    account of its own. Empty without either.
    """
    epoch: int = 0
    """How often the account's cookies had been revoked when the request's cookie was made."""
    origin: str = ""
    """The only origin that may show the token; empty: none was claimed."""
    doubtful: bool = False
    """Whether it could not be read if the cookie or the token was revoked."""
    opens: Json | None = None
    """What an extension's own credential opens; None: the request shows another kind of credential."""

    @property
    def user(self) -> str:
        """The user id under which the caller's data is stored."""
        return self.principal.user


@dataclass(frozen=True, slots=True)
class OwnCredential:
    """A credential that an extension makes and reads itself.

    A program shows it as a token with `prefix` at `path` and below. Browsers never send it by themselves, so pages of
    every origin may show it, unless its identity names one origin.
    """

    path: str
    prefix: str
    identify: Callable[[HTTPConnection], Awaitable[Identity]]
    """Raises `NotAdmitted` for a credential that is not valid, and `MemoryUnavailable`."""

    def is_at(self, path: str) -> bool:
        """Return whether this credential may be shown at `path`."""
        return path == self.path or path.startswith(f"{self.path}/")

    def is_shown(self, connection: HTTPConnection) -> bool:
        """Return whether a request shows this credential."""
        return self.is_at(connection.url.path) and (bearer(connection) or "").startswith(self.prefix)


class Signatures:
    """Signs and reads cookies and tokens. Reading never raises: a foreign or expired value gives None or False."""

    def __init__(
        self, key: bytes | Sequence[bytes], *, token_age_s: int, clock: Callable[[], float] = time.time
    ) -> None:
        """The first `key` signs, and all of them are read. `clock` gives Unix time in seconds."""
        self._keys = [key] if isinstance(key, bytes) else list(reversed(key))  # The library signs with the last one.
        self._clock = clock
        self._token_age_s = token_age_s
        self._cookies = self.signer("caller-cookie")
        self._tokens = self.signer("session-token")

    def signer(self, salt: str) -> Signer:
        """Return a signer for one kind of values; a value with another salt cannot pass for one of them."""
        return Signer(self._keys, salt, self._clock)

    def cookie(self, account: str, epoch: int = 0, *, admin: bool = False, data: str = "", life_s: int = 0) -> str:
        """Return the cookie's value for `account`, void once the account's epoch differs; `admin`: an operator's.

        `data` is the id under which the account's data is stored, if it is not the account's own. `life_s` is the
        length of a sign-in in seconds.
        """
        parts = [account, str(epoch or ""), ADMIN if admin else "", "" if data == account else data, str(life_s or "")]
        return self._cookies.sign(BETWEEN.join(parts).rstrip(BETWEEN)).decode()

    def user(self, cookie: str | None) -> KnownUser | None:
        """Return the user that `cookie` names, if we signed it in the last 400 days."""
        if not _plausible(cookie):
            return None
        try:
            signed, signed_at = self._cookies.unsign(cookie, max_age=COOKIE_AGE_S, return_timestamp=True)
        except BadSignature:
            return None
        account, epoch, admin, data, life_s = [*signed.decode().split(BETWEEN), "", "", "", ""][:5]
        age_s = self._clock() - signed_at.timestamp()
        return KnownUser(account, age_s, int(epoch or 0), admin == ADMIN, data, int(life_s or 0))

    def token(self, session_id: str, origin: str = "") -> str:
        """Return a token for this session that is valid as long as the longest call, and for pages of `origin`."""
        return self._tokens.sign(f"{session_id}{BETWEEN}{origin}" if origin else session_id).decode()

    def opened(self, token: str | None) -> OpenedSession | None:
        """Return the session that `token` opens, if we made it and it is not too old."""
        if not _plausible(token):
            return None
        try:
            session_id, _, origin = self._tokens.unsign(token, max_age=self._token_age_s).decode().partition(BETWEEN)
        except BadSignature:
            return None
        return OpenedSession(session_id, origin)


class Signer(TimestampSigner):
    """Signs values together with the time of `clock`. The last of `keys` signs, and all of them are read."""

    def __init__(self, keys: Sequence[bytes], salt: str, clock: Callable[[], float]) -> None:
        super().__init__(keys, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256)
        self._clock = clock

    def get_timestamp(self) -> int:
        return int(self._clock())


def token_age_s(settings: Settings) -> int:
    """Return the seconds for which a session's token is valid."""
    minutes = settings.limits.session_max_minutes
    return minutes * 60 + TOKEN_GRACE_S if minutes else TOKEN_AGE_UNLIMITED_S


def new_user() -> str:
    """Return a random user id of 128 bits."""
    return secrets.token_urlsafe(16)


def _plausible(value: str | None) -> TypeGuard[str]:
    # No other value can be signed by this server.
    return value is not None and len(value) <= LONGEST and value.isascii()


@dataclass(frozen=True, slots=True)
class Credentials:
    """Reads the credentials of requests."""

    signatures: Signatures
    access: Access
    keys: ApiKeys | None = None
    """None: tokens of API keys are not accepted."""
    own: Sequence[OwnCredential] = ()
    """The credentials of extensions."""

    def identify(self, connection: HTTPConnection) -> Identity:
        """Return who makes the request. Raises `NotAdmitted` for a JSON Web Token that is not valid."""
        token, address = bearer(connection), address_key(connection)
        if token is None:
            return self._visitor(connection, address)
        if self.keys is not None and looks_signed(token):
            signed = self.keys.read(token)
            principal, origin = _key_principal(signed, address), signed.claims.origin or ""
            return Identity(principal, known=True, announce=False, origin=origin, account=token_account(signed.id))
        visitor, opened = self._visitor(connection, address), self.signatures.opened(token)
        if opened is not None:
            visitor.opened, visitor.origin = opened, opened.origin
            if not visitor.known:
                visitor.announce, visitor.principal = False, _session_principal(address)
        return visitor

    def _visitor(self, connection: HTTPConnection, address: str, *, stranger: bool = False) -> Identity:
        """Return the identity of a browser, by its cookie unless it has none or is a `stranger`."""
        cookie = None if stranger else connection.cookies.get(cookie_name(connection.url.scheme))
        known = self.signatures.user(cookie)
        if known is not None and known.account.startswith(OIDC_USER):
            if "oidc" in self.access.modes and known.age_s < known.life_s:
                return _signed_in(known, address)
            known = None
        principal = Principal(
            user=known.user if known else new_user(),
            scope=self.access.scope_here if is_from_here(connection) else ToolScope.ANONYMOUS,
            grants=USER_GRANTS if "open" in self.access.modes else frozenset(),
            tools=None,
            address=address,
            credential="cookie" if known else "none",
        )
        identity = Identity(principal, known=known is not None, announce=known is None or known.ageing)
        if known is not None:
            identity.account, identity.epoch, identity.age_s = known.account, known.epoch, known.age_s
        return identity

    def forget(self, connection: HTTPConnection, identity: Identity) -> None:
        """Treat the caller as a new user, because their cookie was revoked. Raises `NotAdmitted` for a token."""
        if identity.principal.key:
            raise NotAdmitted("The operator has made this token void.", hint="Ask the operator for another.")
        address = identity.principal.address
        identity.principal = self._visitor(connection, address, stranger=True).principal
        identity.known, identity.announce = False, identity.opened is None
        identity.account, identity.epoch = "", 0
        if identity.opened is not None:
            identity.principal = _session_principal(address)


def token_account(token_id: str) -> str:
    """Return the account of one token of an API key. No visitor or user can have the same."""
    return f"token {token_id}"


def cookie_name(scheme: str, name: str = COOKIE) -> str:
    """Return the name that the cookie has in requests of `scheme`."""
    return f"{OVER_TLS}{name}" if scheme in ("https", "wss") else name


def bearer(connection: HTTPConnection) -> str | None:
    """Return the token of an `Authorization: Bearer` header, or of a WebSocket's subprotocol or address.

    Clients of the Realtime protocol put their key into a subprotocol, clients of `TokenSockets` into the address.
    """
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    named = (name for name in connection.scope.get("subprotocols", ()) if name.startswith(KEY_PROTOCOL))
    if token_socket(connection.scope):
        return connection.query_params.get("token")
    return next(named, "").removeprefix(KEY_PROTOCOL) or None


def token_socket(scope: Scope) -> WriteRefusal | None:
    """Return the function that words this WebSocket's refusal; None where the token is not shown in the address."""
    if scope["type"] != "websocket" or "app" not in scope:
        return None
    sockets: TokenSockets = scope["app"].state.token_sockets
    return sockets.get(scope["path"])


def _signed_in(known: KnownUser, address: str) -> Identity:
    """Return the identity of a user who has signed in at the OpenID provider."""
    admin = known.admin and known.age_s < ADMIN_AGE_S
    scope = ToolScope.OPERATOR if admin else ToolScope.SIGNED_IN
    grants = USER_GRANTS | {Grant.ADMIN} if admin else USER_GRANTS
    principal = Principal(known.user, scope, grants, None, address, "oidc")
    return Identity(principal, known=True, announce=False, age_s=known.age_s, account=known.account, epoch=known.epoch)


def _key_principal(signed: VerifiedToken, address: str) -> Principal:
    """Return the principal of a token. It may use the tools it names, whatever their scope, if its key may do that."""
    named = (signed.tools is not None and TOOLS in signed.ceiling) or Grant.ADMIN in signed.grants
    return Principal(
        user=signed.user,
        scope=ToolScope.OPERATOR if named else ToolScope.SIGNED_IN,
        grants=signed.grants,
        tools=signed.tools,
        address=address,
        credential=f"{KEY}{signed.key}",
        conversation=signed.claims.conversation,
    )


def _session_principal(address: str) -> Principal:
    """Return the principal of a session token, which opens the session and none of its owner's other data."""
    return Principal(new_user(), ToolScope.ANONYMOUS, frozenset({Grant.CALL}), frozenset(), address, "session")
