"""The headers of a request show who makes it: a token of an API key, a session's token, or a visitor's cookie.

Cookies and sessions' tokens are signatures over a value and a time; each has a salt of its own, so neither can pass for
the other.

A token that is none of ours counts as none here. A JSON Web Token that is not valid is refused here, so that its maker
learns why.
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
from backend.access.keys import ApiKeys, VerifiedToken, looks_signed
from backend.access.principal import USER_GRANTS, Grant, Principal, ToolScope
from backend.runtime.json_objects import Json
from backend.settings.settings import Settings

KEY_PROTOCOL = "openai-insecure-api-key."
"""What a subprotocol begins with that carries a key."""
OIDC_USER = "oidc."
"""How the accounts of users who have signed in begin; ids of visitors hold no dot."""
COOKIE = "caller"
OVER_TLS = "__Host-"
"""Browsers take a cookie with this prefix from this very host only, over TLS, and send it to no other."""

COOKIE_AGE_S = 400 * 86_400
"""How long an identity lasts after its last renewal; browsers keep no cookie longer."""
RENEW_AFTER_S = 30 * 86_400
"""An identity older than this is signed again on the next visit."""
TOKEN_GRACE_S = 600
"""A token outlives the longest call by this much, so that its end can still be read."""
TOKEN_AGE_UNLIMITED_S = 86_400
"""A token's life when calls have no limit."""
BETWEEN = "|"
"""What stands between the parts of a signed value, and occurs in none."""
ADMIN = "admin"
LONGEST = 640
"""Characters a signed value of ours may have; longer ones are not even looked at."""

WriteRefusal = Callable[[str], bytes]
"""Writes the message that tells a client why it is refused."""
TokenSockets = Mapping[str, WriteRefusal]
"""Paths of WebSockets of clients that show their token in the address, as `?token=…`.

A page cannot choose the headers of a WebSocket, and learns nothing of a handshake that was refused. So these are
accepted, get the reason in a message of their protocol, and are closed.
"""


@dataclass(frozen=True, slots=True)
class KnownUser:
    """The user named by a valid cookie."""

    account: str
    """The visitor, or who has signed in."""
    age_s: float
    """Seconds since it was signed."""
    epoch: int = 0
    """The account's epoch when it was signed: with another one it is void."""
    admin: bool = False
    """Whether the provider at which the user signed in calls them an operator."""
    data: str = ""
    """The id under which an account's data is stored; empty: its own."""
    life_s: int = 0
    """Seconds for which a user who has signed in stays so."""

    @property
    def user(self) -> str:
        """The user id under which their data is stored."""
        return self.data or self.account

    @property
    def ageing(self) -> bool:
        """Return whether it should be signed again."""
        return self.age_s > RENEW_AFTER_S


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """The session a token opens, and the only origin that may show it; empty: any."""

    session_id: str
    origin: str


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


class Signatures:
    """Signs and reads cookies and tokens. Reading never raises: what is not ours, or too old, is None or False."""

    def __init__(
        self, key: bytes | Sequence[bytes], *, token_age_s: int, clock: Callable[[], float] = time.time
    ) -> None:
        """`key`: of several, the first signs, and all are read. `clock` gives Unix time in seconds."""
        self._keys = [key] if isinstance(key, bytes) else list(reversed(key))  # the library signs with the last
        self._clock = clock
        self._token_age_s = token_age_s
        self._cookies = self.signer("caller-cookie")
        self._tokens = self.signer("session-token")

    def signer(self, salt: str) -> Signer:
        """Return what signs one kind of values: none of another salt can pass for it."""
        return Signer(self._keys, salt, self._clock)

    def cookie(self, account: str, epoch: int = 0, *, admin: bool = False, data: str = "", life_s: int = 0) -> str:
        """Return the cookie's value for `account`, void once its epoch is another; `admin`: an operator's.

        `data` is where the account's data is stored, if not under its own id; `life_s` is how long a sign-in lasts.
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
        """Return a token for this session, valid for the length of the longest call, and for pages of `origin`."""
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
    """Signs values together with the time, by `clock`; the last of `keys` signs, and all are read."""

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
    return value is not None and len(value) <= LONGEST and value.isascii()


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
        """Return the principal of a browser, by its cookie if it has one and is no `stranger`."""
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

    def forget_cookie(self, connection: HTTPConnection, identity: Identity) -> None:
        """Take the caller for a new user: their cookie was revoked."""
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
    scope = ToolScope.OPERATOR if known.admin else ToolScope.SIGNED_IN
    grants = USER_GRANTS | {Grant.ADMIN} if known.admin else USER_GRANTS
    principal = Principal(known.user, scope, grants, None, address, "oidc")
    return Identity(principal, known=True, announce=False, age_s=known.age_s, account=known.account, epoch=known.epoch)


def _key_principal(signed: VerifiedToken, address: str) -> Principal:
    """Return the principal of a token. It may use the tools it names, whatever their scope."""
    named = signed.tools is not None or Grant.ADMIN in signed.grants
    return Principal(
        user=signed.user,
        scope=ToolScope.OPERATOR if named else ToolScope.SIGNED_IN,
        grants=signed.grants,
        tools=signed.tools,
        address=address,
        credential=f"key {signed.key}",
        conversation=signed.claims.conversation,
    )


def _session_principal(address: str) -> Principal:
    """Return the principal of one who holds a session's token only: it opens the call, not its owner's life."""
    return Principal(new_user(), ToolScope.ANONYMOUS, frozenset({Grant.CALL}), frozenset(), address, "session")
