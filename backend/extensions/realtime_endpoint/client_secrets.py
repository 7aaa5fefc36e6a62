"""Client secrets let a program's page begin calls over the Realtime protocol as its user.

A secret is signed, so that a forged one costs no look-up. It names an entry in its user's cache: every process can read
it, it expires by itself, and it is exported and erased with the user's data. It opens `/v1/realtime` and the paths
below, and cannot make another secret. It is void once the cookie or the token that made it is, and makes no operator.
"""

import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from typing import Any

import msgspec
from itsdangerous import BadSignature
from starlette.requests import HTTPConnection

from backend.access.addresses import address_key
from backend.access.credentials import BETWEEN, Identity, OwnCredential, bearer
from backend.access.principal import Grant, Principal
from backend.errors import NotAdmitted
from backend.http.context import Context, context_of
from backend.runtime.json_objects import Json

PREFIX = "ek_"
LIFE_MIN_S = 10
LIFE_MAX_S = 7_200
LONGEST = 640
"""The most characters of a secret; a longer one is not valid."""
SALT = "client-secret"


class _StoredSession(msgspec.Struct, frozen=True):
    """The session that a secret opens, and the user who made the secret."""

    session: dict[str, Any]
    principal: Principal
    origin: str = ""
    age_s: float = 0.0
    account: str = ""
    epoch: int = 0


_decoder = msgspec.json.Decoder(_StoredSession)


async def make_secret(here: Context, caller: Identity, session: Json, life_s: int) -> tuple[str, int]:
    """Return a secret for `session`, and the Unix time at which it expires. Raises `MemoryUnavailable`."""
    name = secrets.token_urlsafe(16)
    maker = replace(caller.principal.as_user(), grants=frozenset({Grant.CALL}))
    kept = _StoredSession(session, maker, caller.origin, caller.age_s, caller.account, caller.epoch)
    await here.services.data.memory.cache_put(maker.user, _entry(name), msgspec.json.encode(kept).decode(), life_s)
    user = urlsafe_b64encode(maker.user.encode()).decode().rstrip("=")  # a subprotocol may have few kinds of characters
    signed = here.signatures.signer(SALT).sign(f"{user}{BETWEEN}{name}").decode()
    return PREFIX + signed, int(time.time()) + life_s


async def identity_by_secret(connection: HTTPConnection) -> Identity:
    """Return the identity of the user who made the request's secret.

    Raises `NotAdmitted` for a forged or expired secret, and `MemoryUnavailable`.
    """
    kept = await _kept(context_of(connection), bearer(connection) or "")
    if kept is None:
        raise NotAdmitted(
            "The client secret is not valid, or has expired.",
            hint="Create another with POST /v1/realtime/client_secrets.",
        )
    principal = replace(kept.principal, address=address_key(connection))
    return Identity(principal, known=True, announce=False, age_s=kept.age_s, origin=kept.origin, opens=kept.session)


async def _kept(here: Context, secret: str) -> _StoredSession | None:
    try:
        signed = here.signatures.signer(SALT).unsign(secret[len(PREFIX) : LONGEST], max_age=LIFE_MAX_S).decode()
        user, _, name = signed.partition(BETWEEN)
        owner = urlsafe_b64decode(user + "=" * (-len(user) % 4)).decode()
    except (BadSignature, ValueError):
        return None
    services = here.services
    found = await services.data.memory.cache_get(owner, _entry(name))
    kept = _decoder.decode(found) if found is not None else None
    if kept and kept.account and await services.people.access_store.is_revoked(kept.account, kept.epoch) is not False:
        return None
    return kept


def _entry(name: str) -> str:
    return f"client-secret:{name}"


CLIENT_SECRET = OwnCredential("/v1/realtime", PREFIX, identity_by_secret)
