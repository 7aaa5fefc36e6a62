"""Client secrets: what a program gives its page, so that the page begins calls over the Realtime protocol as its user.

A secret is signed, so that what we did not make costs no look-up, and names an entry in its user's cache: every process
reads it, it expires by itself, and it is exported and erased with the rest. It opens `/v1/realtime` and what is below
it, and makes no other secret. One made with a cookie is void once the user's cookies are.
"""

from __future__ import annotations

import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from itsdangerous import BadSignature
from starlette.requests import HTTPConnection

from backend.access.addresses import address_key
from backend.access.credentials import Identity, bearer
from backend.access.principal import Grant, Principal
from backend.access.signatures import BETWEEN, Signer
from backend.access.store import AccessStore
from backend.errors import NotAdmitted
from backend.runtime.json_objects import Json
from backend.storage.memory import Memory

PREFIX = "ek_"
PATH = "/v1/realtime"
LIFE_MIN_S = 10
LIFE_MAX_S = 7_200
LONGEST = 640
"""Characters of a secret that are looked at."""
VOIDABLE = ("cookie", "oidc")
"""Credentials that can be revoked while a secret of theirs lives."""


class _Kept(msgspec.Struct, frozen=True):
    """The session that a secret opens, as the one who made it."""

    session: dict[str, Any]
    principal: Principal
    origin: str = ""
    age_s: float = 0.0
    account: str = ""
    epoch: int = 0
    until: int = 0


_decoder = msgspec.json.Decoder(_Kept)


class ClientSecrets:
    """Makes secrets and reads them."""

    def __init__(
        self, keys: Sequence[bytes], memory: Memory, store: AccessStore, clock: Callable[[], float] = time.time
    ) -> None:
        """`keys`: the first signs, all are read. `clock` gives Unix time in seconds."""
        self._memory = memory
        self._store = store
        self._clock = clock
        self._signer = Signer(list(reversed(keys)), "client-secret", clock)

    async def make(self, caller: Identity, session: Json, life_s: int) -> tuple[str, int]:
        """Return a secret for `session`, and the Unix time at which it expires. Raises `MemoryUnavailable`."""
        name, until = secrets.token_urlsafe(16), int(self._clock()) + life_s
        maker = replace(caller.principal, grants=frozenset({Grant.CALL}))
        kept = _Kept(session, maker, caller.origin, caller.age_s, caller.account, caller.epoch, until)
        await self._memory.cache_put(maker.user, _entry(name), msgspec.json.encode(kept).decode(), life_s)
        user = urlsafe_b64encode(maker.user.encode()).decode().rstrip("=")  # a subprotocol takes few characters
        return PREFIX + self._signer.sign(f"{user}{BETWEEN}{name}").decode(), until

    async def identity(self, connection: HTTPConnection) -> Identity | None:
        """Return who made the secret that the request shows; None where it shows none, or asks for something else.

        Raises `NotAdmitted` for a secret that is not ours, or over, and `MemoryUnavailable`.
        """
        secret = shown_secret(connection)
        if secret is None:
            return None
        kept = await self._kept(secret)
        if kept is None or kept.until <= self._clock():
            raise NotAdmitted(
                "The client secret is not valid, or has expired.",
                hint="Create another with POST /v1/realtime/client_secrets.",
            )
        principal = replace(kept.principal, address=address_key(connection))
        return Identity(
            principal, known=True, announce=False, age_s=kept.age_s, origin=kept.origin, realtime=kept.session
        )

    async def _kept(self, secret: str) -> _Kept | None:
        try:
            signed = self._signer.unsign(secret[len(PREFIX) : LONGEST], max_age=LIFE_MAX_S).decode()
            user, _, name = signed.partition(BETWEEN)
            owner = urlsafe_b64decode(user + "=" * (-len(user) % 4)).decode()
        except (BadSignature, ValueError):
            return None
        found = await self._memory.cache_get(owner, _entry(name))
        kept = _decoder.decode(found) if found is not None else None
        if kept and kept.principal.credential in VOIDABLE and await self._store.epoch(kept.account) != kept.epoch:
            return None
        return kept


def shown_secret(connection: HTTPConnection) -> str | None:
    """Return the client secret that a request shows where secrets are taken; None: it shows none."""
    path = connection.url.path
    token = bearer(connection) if path == PATH or path.startswith(f"{PATH}/") else None
    return token if token is not None and token.startswith(PREFIX) else None


def _entry(name: str) -> str:
    return f"client-secret:{name}"
