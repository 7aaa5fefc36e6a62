"""Identities can come from a telephone number or from the fingerprint of a browser.

Both are hashed with the server's secret, so that neither stored data nor a log shows them. The same number is the same
user in every call as long as the secret stays the same. A caller who withholds the number is a new user each time.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import replace
from hashlib import sha256

from backend.access.billing import BillingSubject
from backend.access.credentials import Identity, new_user
from backend.access.store import AccessStore

PHONE_USER = "phone-"
"""The beginning of the user ids of callers by telephone."""
BROWSER_USER = "browser-"
"""The beginning of the user ids that come from a browser's fingerprint."""
WITHHELD = frozenset({"anonymous", "restricted", "unavailable", "unknown", "private", "266696687", "7378742833"})
"""Stand-ins for a withheld number; the digits spell ANONYMOUS and RESTRICTED."""


class Callers:
    """Gives callers the user ids of their numbers and fingerprints."""

    def __init__(self, key: bytes) -> None:
        """`key` is the server's secret."""
        self._key = key

    def billed(self, number: str) -> BillingSubject:
        """Return the billing subject of a call from `number`: the number, as user and in place of an address."""
        normal = re.sub(r"[\s().-]", "", number.lower()).removeprefix("sip:").removeprefix("tel:").partition(";")[0]
        if not normal or normal.partition("@")[0].lstrip("+") in WITHHELD:
            return BillingSubject(new_user(), "withheld number", "phone")
        user = self._user(PHONE_USER, normal)
        return BillingSubject(user, user, "phone")

    async def recognise(self, caller: Identity, fingerprint: str, store: AccessStore) -> None:
        """Give a browser without a cookie the user id of its fingerprint.

        An id with revoked cookies is given to no browser, since its user has signed in or erased everything.
        """
        user = self._user(BROWSER_USER, fingerprint)
        if not caller.known and await store.epoch(user) == 0:
            caller.principal = replace(caller.principal, user=user)

    def _user(self, kind: str, shown: str) -> str:
        digest = hmac.new(self._key, f"{kind}|{shown}".encode(), sha256).digest()
        return kind + urlsafe_b64encode(digest[:16]).decode().rstrip("=")
