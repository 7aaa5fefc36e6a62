"""Unknown callers prove some work before their first request that costs something.

Off by default (BUDGETS__PROOF_OF_WORK_BITS). A challenge is signed and not stored: it names its address and difficulty,
and expires. An answered one is good once, in all processes together, and marks its user until their cookie's age proves
them. While Redis does not answer, an answer is good until it expires.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from itsdangerous import BadSignature

from backend.access.proof_of_work import WorkRequired, proves
from backend.access.store import AccessStore
from backend.budgets.usage import Payer
from backend.errors import MemoryUnavailable
from backend.http.auth import Signer
from backend.settings.budgets import BudgetSettings

HEADER = "proof-of-work"
LONGEST = 256
"""Characters of a proof that are looked at."""
HINT = (
    "Find a number for which SHA-256 of `challenge:number` begins with `bits` zero bits, and send `challenge:number` "
    "in the header Proof-Of-Work, with the cookie of this answer: see docs/howto/budgets.md."
)
DAY_S = 86_400


class ProofOfWork:
    """Asks for proofs and checks them; `clock` gives Unix time in seconds."""

    def __init__(
        self,
        keys: Sequence[bytes],
        store: AccessStore,
        settings: BudgetSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`keys`: the first signs, and all are read."""
        self._signer = Signer(list(reversed(keys)), "proof-of-work", clock)
        self._store = store
        self._bits = settings.proof_of_work_bits
        self._life_s = settings.proof_of_work_s
        self._kept_s = round(settings.proven_after_h * 3600) or DAY_S

    def __repr__(self) -> str:
        return f"ProofOfWork({self._bits} bits)"

    async def require(self, payer: Payer, shown: str | None) -> None:
        """Return when the payer is known, has proven work before, or `shown` proves it. Raises `WorkRequired`."""
        if not self._bits or payer.proven or payer.exempt:
            return
        if shown is None:
            with suppress(MemoryUnavailable):
                if await self._store.has_worked(payer.user):
                    return
            raise self._required("This server asks strangers for a proof of work first.", payer)
        if fault := self._fault(shown, payer):
            raise self._required(f"The proof of work {fault}.", payer)
        challenge = shown.partition(":")[0]
        with suppress(MemoryUnavailable):
            if not await self._store.spend_work(challenge, self._life_s, payer.user, self._kept_s):
                raise self._required("The proof of work was used before.", payer)

    def _fault(self, shown: str, payer: Payer) -> str:
        """Return what is wrong with a proof; empty when it is good but for having been used."""
        if len(shown) > LONGEST or not shown.isascii():
            return "is not one"
        try:
            named = self._signer.unsign(shown.partition(":")[0], max_age=self._life_s - 1).decode()
        except BadSignature:
            return "is not for a challenge of this server, or comes too late"
        bits, _, rest = named.partition(".")
        if not rest.endswith(_hashed(payer.address)):
            return "was asked of another address"
        return "" if int(bits) >= self._bits and proves(shown, int(bits)) else f"does not reach {self._bits} bits"

    def _required(self, message: str, payer: Payer) -> WorkRequired:
        named = f"{self._bits}.{secrets.token_hex(12)}.{_hashed(payer.address)}"
        challenge = self._signer.sign(named).decode()
        return WorkRequired(message, challenge=challenge, bits=self._bits, expires_in_s=self._life_s, hint=HINT)


def _hashed(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:16]
