"""Callers by telephone: an identity made of the number, and the token that binds a media stream to its webhook.

A number is hashed with the server's secret, so that neither the stored data nor a log tells it; the same number is the
same user in every call, for as long as the secret stays. Who withholds the number is somebody new each time.
"""

from __future__ import annotations

import hmac
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256

from itsdangerous import BadSignature

from backend.access.billing import BillingSubject
from backend.access.signatures import BETWEEN, Signer, new_user

PHONE_USER = "phone-"
"""How the user ids of callers by telephone begin."""
TOKEN_AGE_S = 60
"""Seconds after its webhook in which a stream may begin."""
WITHHELD = frozenset({"anonymous", "restricted", "unavailable", "unknown", "private", "266696687", "7378742833"})
"""What stands in place of a number that is withheld; the digits spell ANONYMOUS and RESTRICTED."""


class PhoneCallers:
    """Names callers, and signs the tokens of their streams. Reading never raises."""

    def __init__(self, keys: Sequence[bytes], clock: Callable[[], float] = time.time) -> None:
        """`keys`: the first signs, all are read."""
        self._key = keys[0]
        self._tokens = Signer(list(reversed(keys)), "phone-stream", clock)

    def billed(self, number: str) -> BillingSubject:
        """Return who pays for a call from `number`: the number itself, as user and in place of an address."""
        normal = re.sub(r"[\s().-]", "", number.lower()).removeprefix("sip:").removeprefix("tel:").partition(";")[0]
        if not normal or normal.partition("@")[0].lstrip("+") in WITHHELD:
            return BillingSubject(new_user(), "withheld number", "phone")
        digest = hmac.new(self._key, b"phone|" + normal.encode(), sha256).digest()
        user = PHONE_USER + urlsafe_b64encode(digest[:16]).decode().rstrip("=")
        return BillingSubject(user, user, "phone")

    def token(self, session_id: str, call: str) -> str:
        """Return the token with which the stream of the provider's `call` opens the session, within a minute."""
        return self._tokens.sign(f"{session_id}{BETWEEN}{call}").decode()

    def opened(self, token: str, call: str) -> str | None:
        """Return the id of the session that the stream of `call` opens with `token`; None where it opens none."""
        try:
            value = self._tokens.unsign(token[:640], max_age=TOKEN_AGE_S).decode()
        except (BadSignature, UnicodeError):
            return None
        session_id, _, bound = value.partition(BETWEEN)
        return session_id if hmac.compare_digest(bound.encode(), call.encode()) else None
