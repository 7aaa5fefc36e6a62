"""API keys and the tokens they sign: JSON Web Tokens (RFC 7519) that say who asks, and what they may do.

The server decides about the algorithm, HS256, never the token (RFC 8725, 3.1). A token shows in `iat` and `exp` how
long it lives: an hour at most, or a year if it grants only what programs do that keep it in their settings. The users
that a key names are that key's alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import jwt
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, ValidationError

from backend.access.principal import PROGRAM_GRANTS, Grant
from backend.errors import NotAdmitted, SettingsError

LIFE_S = 3_600
"""Seconds a token may live."""
PROGRAM_LIFE_S = 366 * 86_400
"""Seconds a token may live that grants nothing but PROGRAM_GRANTS."""
LEEWAY_S = 30
"""Seconds by which the signer's clock may differ from ours."""
LONGEST = 8_192
"""Characters a token may have; longer ones are not even looked at."""
SHAPE = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
"""How a JSON Web Token looks, and none of our other tokens: a header that begins with {", and two dots."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]


class GrantsClaim(BaseModel):
    """The claim `grants`: parts of the API, each true, and the names of tools; without `tools`, those of any user."""

    model_config = ConfigDict(extra="forbid")

    call: StrictBool = False
    chat: StrictBool = False
    reason: StrictBool = False
    embed: StrictBool = False
    tasks: StrictBool = False
    notify: StrictBool = False
    memory: StrictBool = False
    admin: StrictBool = False
    mcp: StrictBool = False
    mcp_copilot: StrictBool = False
    mcp_external: StrictBool = False
    on_behalf: StrictBool = False
    tools: Annotated[list[Name], Field(max_length=100)] | None = None


class Claims(BaseModel):
    """The claims of a token, of which `sub`, `iat`, `exp` and `grants` must be there."""

    sub: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.@-]{1,90}$")]
    iat: int
    exp: int
    grants: GrantsClaim
    conversation: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    origin: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]{1,255}$")] | None = None


@dataclass(frozen=True, slots=True)
class Signed:
    """The claims of a valid token, and the key that signed it."""

    key: str
    claims: Claims

    @property
    def user(self) -> str:
        """The user id under which their data is stored. No other key's users can have it, and no visitor."""
        return f"{self.key}.{self.claims.sub}"

    @property
    def grants(self) -> frozenset[Grant]:
        """The parts of the API it opens: `tools` are reached over MCP, too, and an operator may act for all users."""
        granted = {grant for grant in Grant if getattr(self.claims.grants, grant)}
        if self.claims.grants.tools is not None:
            granted.add(Grant.MCP_EXTERNAL)
        if Grant.ADMIN in granted:
            granted.add(Grant.ON_BEHALF)
        return frozenset(granted)

    @property
    def tools(self) -> frozenset[str] | None:
        """The tools it names; None when it names none."""
        return None if self.claims.grants.tools is None else frozenset(self.claims.grants.tools)


class ApiKeys:
    """The keys that sign the tokens that are taken."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        """`keys` are secrets by their ids."""
        self._keys = keys

    def __repr__(self) -> str:
        return f"ApiKeys({', '.join(self._keys)})"

    def sign(self, key_id: str, claims: Mapping[str, object], life_s: int = LIFE_S) -> str:
        """Return a token of `claims` that lives `life_s` seconds. Raises `SettingsError` for an unknown key."""
        key = self._keys.get(key_id)
        if key is None and not self._keys:
            raise SettingsError("API_KEYS is not set.", hint="Set it to ID:SECRET: see docs/howto/access.md.")
        if key is None:
            raise SettingsError(f"API_KEYS has no key {key_id}.", hint=f"There are: {', '.join(self._keys)}.")
        now = int(time.time())
        times = {"iat": now, "exp": now + life_s}
        return jwt.encode({**claims, **times}, key, algorithm="HS256", headers={"kid": key_id})

    def read(self, token: str) -> Signed:
        """Return what `token` says. Raises `NotAdmitted`, which says what is wrong with it and shows none of it."""
        if len(token) > LONGEST:
            raise _refused("is too long")
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = self._keys.get(key_id) if isinstance(key_id, str) else None
            if key is None or not isinstance(key_id, str):
                raise _refused("names no key of this server in `kid`")
            payload = jwt.decode(token, key, ["HS256"], {"verify_aud": False}, leeway=LEEWAY_S)
            claims = Claims.model_validate(payload)
        except jwt.ExpiredSignatureError:
            raise _refused("has expired") from None
        except jwt.ImmatureSignatureError:
            raise _refused("was made in the future") from None
        except jwt.InvalidTokenError:
            raise _refused("has no valid signature") from None
        except ValidationError as error:
            named = ", ".join(sorted({".".join(map(str, each["loc"])) for each in error.errors()}))
            raise _refused(f"has missing or faulty claims: {named}") from None
        signed = Signed(key_id, claims)
        life_s = PROGRAM_LIFE_S if signed.grants <= PROGRAM_GRANTS else LIFE_S
        if claims.exp - claims.iat > life_s:
            raise _refused(f"lives longer than {life_s} seconds")
        return signed


def looks_signed(token: str) -> bool:
    """Return whether `token` is a JSON Web Token by its looks."""
    return SHAPE.match(token) is not None


def _refused(why: str) -> NotAdmitted:
    return NotAdmitted(f"The token {why}.", hint="Create a new one with a key from API_KEYS: see docs/howto/access.md.")
