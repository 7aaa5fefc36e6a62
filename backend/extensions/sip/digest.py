"""Digest authentication of callers (RFC 2617, 7616): challenges, and the check of their answers. Pure.

Theory. A nonce is the time with a signature over it and the caller's address. So challenges need no storage, and a
nonce is valid for a minute, from one address. Each count (`nc`) of a nonce is accepted once, so that an intercepted
INVITE cannot be replayed. Telephones support only MD5, which hides the password from the network and does no more.
"""

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Mapping
from enum import StrEnum

from aiosipua import SipRequest
from aiosipua.auth import SipDigestAuth, build_credentials
from aiosipua.headers import AuthChallenge, parse_auth

VALID_S = 60.0
"""Seconds for which a nonce is valid."""
REMEMBERED = 10_000
"""The most used nonces that are remembered, more than a minute has; the oldest are dropped first."""


class DigestVerdict(StrEnum):
    """The verdict on a request's credentials."""

    NONE = "none"
    """The request has no credentials, or they answer no valid challenge. It must be challenged."""
    WRONG = "wrong"
    RIGHT = "right"


class DigestAuth:
    """Makes challenges, and checks their answers. `users`: name → password."""

    def __init__(self, key: bytes, realm: str, users: Mapping[str, str]) -> None:
        """`key` signs nonces."""
        self._key = key
        self._realm = realm
        self._users = users
        self._used: OrderedDict[tuple[str, str], None] = OrderedDict()

    def challenge(self, address: str, now: float) -> str:
        """Return a `WWW-Authenticate` header for a request from `address`."""
        return f'Digest realm="{self._realm}", nonce="{self._nonce(address, int(now))}", algorithm=MD5, qop="auth"'

    def check(self, request: SipRequest, address: str, now: float) -> tuple[DigestVerdict, str]:
        """Return the verdict on the request's credentials, and the name of the user who showed them."""
        shown = request.headers.get_first("authorization")
        if not shown:
            return DigestVerdict.NONE, ""
        params = parse_auth(shown[:2000], credentials=True).params
        name, nonce, count = params.get("username", ""), params.get("nonce", ""), params.get("nc", "")
        if not self._is_fresh(nonce, address, now) or (nonce, count) in self._used:
            return DigestVerdict.NONE, name
        if not self._answers(params, request.method):
            return DigestVerdict.WRONG, name
        self._used[nonce, count] = None
        while len(self._used) > REMEMBERED:
            self._used.popitem(last=False)
        return DigestVerdict.RIGHT, name

    def _answers(self, params: Mapping[str, str], method: str) -> bool:
        password = self._users.get(params.get("username", ""))
        challenge = {"realm": self._realm, "nonce": params["nonce"], "algorithm": "MD5"}
        challenge |= {"qop": "auth"} if params.get("qop") else {}
        try:
            count = int(params.get("nc") or "1", 16)
        except ValueError:
            return False
        expected = build_credentials(
            SipDigestAuth(params.get("username", ""), password or ""),
            AuthChallenge("Digest", challenge),
            method,
            params.get("uri", ""),
            nonce_count=count,
            cnonce=params.get("cnonce", ""),
        )
        shown = params.get("response", "").lower().encode()
        same = expected is not None and hmac.compare_digest(expected.params["response"].encode(), shown)
        return same and password is not None and params.get("realm") == self._realm  # unknown names take as long

    def _nonce(self, address: str, second: int) -> str:
        signature = hmac.new(self._key, f"sip-nonce|{second}|{address}".encode(), hashlib.sha256).hexdigest()
        return f"{second:x}.{signature[:32]}"

    def _is_fresh(self, nonce: str, address: str, now: float) -> bool:
        try:
            second = int(nonce.partition(".")[0][:16], 16)
        except ValueError:
            return False
        fresh = 0 <= now - second < VALID_S + 1
        return fresh and hmac.compare_digest(self._nonce(address, second).encode(), nonce.encode())
