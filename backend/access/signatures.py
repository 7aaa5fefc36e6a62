"""Access to sessions: by its owner's signed cookie, or by a short-lived token made for that very session.

Both are signatures over a value and a time; each has a salt of its own, so neither can pass for the other.
Everybody else, and everybody who asks for a session that does not exist, gets the same `NotFound`.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from itsdangerous import BadSignature, TimestampSigner

from backend.settings.settings import Settings

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


TOKEN = re.compile(r"([?&](?:token|code)=)[^&\s\"']+")
LOGGERS = ("uvicorn.access", "uvicorn.error", "uvicorn.asgi")
"""The loggers that write addresses: of requests, WebSocket handshakes and trace messages."""


class WithoutTokens(logging.Filter):
    """Replaces the value of every `token=` in a record's message and arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg = redact(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(redact(value) if isinstance(value, str) else value for value in record.args)
        return True


def redact(text: str) -> str:
    """Return `text` with every token's value replaced by dots."""
    return TOKEN.sub(r"\1…", text)


def redact_tokens_in_logs() -> None:
    """Put the filter on the server's loggers, once."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(present, WithoutTokens) for present in logger.filters):
            logger.addFilter(WithoutTokens())
