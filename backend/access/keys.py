"""API keys and the tokens they sign: JSON Web Tokens (RFC 7519) that say who asks, and what they may do.

The key decides the algorithm, never the token (RFC 8725, 3.1): a secret signs with HS256; a public key verifies RS256,
ES256 or EdDSA. `iat` and `exp` bound the life of a token: at most an hour, or a year for a token that grants only
PROGRAM_GRANTS. API_KEY_GRANTS bounds what the tokens of a key may grant. Users belong to the key that names them (see
`tenants`).
"""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Annotated

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, ValidationError

from backend.access.principal import PROGRAM_GRANTS, USER_GRANTS, Grant
from backend.errors import NotAdmitted, SettingsError
from backend.settings.access import KEY_FILE, AccessSettings, key_pairs

LIFE_S = 3_600
"""Seconds a token may live."""
PROGRAM_LIFE_S = 366 * 86_400
"""Seconds a token may live that grants nothing but PROGRAM_GRANTS."""
LEEWAY_S = 30
"""Seconds by which the signer's clock may differ from ours."""
LONGEST = 8_192
"""The most characters of a token; longer ones are ignored unread."""
RSA_BITS_MIN = 2_048
TOOLS = "tools"
"""The part of a ceiling that lets tokens name tools that act with the operator's credentials."""
OF_A_SECRET = frozenset[str]({*Grant, TOOLS}) - {Grant.ADMIN, Grant.ON_BEHALF}
"""The ceiling of a secret, which a program of the operator holds, unless API_KEY_GRANTS names another."""
OF_A_PUBLIC_KEY = frozenset[str](USER_GRANTS | {Grant.MCP_EXTERNAL})
"""The ceiling of a public key: another party holds the private half."""
SHAPE = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
"""The shape of a JSON Web Token: a header that begins with {", and two dots. No other token of this server has it."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


class GrantsClaim(BaseModel):
    """The claim `grants`: parts of the API, each true, and names of tools. Without `tools`, the tools of any user."""

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
    """The claims of a token; `sub`, `iat`, `exp` and `grants` are required."""

    sub: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.@-]{1,90}$")]
    iat: int
    exp: int
    grants: GrantsClaim
    conversation: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    origin: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]{1,255}$")] | None = None
    jti: Annotated[str, StringConstraints(min_length=1, max_length=128)] | None = None


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """The claims of a valid token, the key that signed it, and the most that this key may grant."""

    key: str
    claims: Claims
    id: str
    """The id by which this one token can be made void: its key's id, a dot, and `jti` or a hash of the token."""
    ceiling: frozenset[str]

    @property
    def user(self) -> str:
        """The user id under which the user's data is stored. No visitor and no other key's user can have the same."""
        return f"{self.key}.{self.claims.sub}"

    @property
    def grants(self) -> frozenset[Grant]:
        """The parts of the API that the token opens. `tools` opens MCP, too, if the key may grant it."""
        granted = {grant for grant in Grant if getattr(self.claims.grants, grant)}
        if self.claims.grants.tools is not None and Grant.MCP_EXTERNAL in self.ceiling:
            granted.add(Grant.MCP_EXTERNAL)
        return frozenset(granted)

    @property
    def tools(self) -> frozenset[str] | None:
        """The tools that the token names; None when it names none."""
        return None if self.claims.grants.tools is None else frozenset(self.claims.grants.tools)


class ApiKeys:
    """The keys for tokens: they sign new ones, and verify those of requests."""

    def __init__(self, keys: Mapping[str, str], ceilings: Sequence[str] = ()) -> None:
        """`keys` are secrets by their ids, or `file:` and the path of a public key; `ceilings` are API_KEY_GRANTS.

        Raises `SettingsError` for a file that holds no usable key, or a ceiling of no such key or grant.
        """
        self._keys = {key_id: _usable(key_id, value) for key_id, value in keys.items()}
        given = dict(_ceiling(each, self._keys) for each in ceilings)
        if len(given) < len(ceilings):
            raise SettingsError("API_KEY_GRANTS names a key twice.", hint="Write all its grants into one entry.")
        self._ceilings = {
            key_id: given.get(key_id, OF_A_SECRET if isinstance(key, str) else OF_A_PUBLIC_KEY)
            for key_id, (key, _) in self._keys.items()
        }
        self.naming = next((key_id for key_id, ceiling in given.items() if Grant.ON_BEHALF in ceiling), "")
        """The first key in API_KEY_GRANTS with programs that may name users; empty: none."""

    @classmethod
    def of(cls, settings: AccessSettings) -> "ApiKeys":
        """Return the keys of these settings. Raises `SettingsError`."""
        return cls(key_pairs(settings.api_keys), settings.api_key_grants)

    def sign(self, key_id: str, claims: Mapping[str, object], life_s: int = LIFE_S) -> str:
        """Return a token of `claims` that lives `life_s` seconds. Raises `SettingsError` for a key that cannot sign."""
        if not self._keys:
            raise SettingsError("API_KEYS is not set.", hint="Set it to ID:SECRET: see docs/howto/access.md.")
        secrets = {name: key for name, (key, _) in self._keys.items() if isinstance(key, str)}
        if key_id not in secrets:
            hint = f"Keys that can sign: {', '.join(secrets) or 'none'}."
            raise SettingsError(f"API_KEYS has no secret for {key_id}.", hint=hint)
        now = int(time.time())
        payload = {"jti": token_hex(8), **claims, "iat": now, "exp": now + life_s}
        return jwt.encode(payload, secrets[key_id], algorithm="HS256", headers={"kid": key_id})

    def read(self, token: str) -> VerifiedToken:
        """Return the claims of `token`. Raises `NotAdmitted`, which says what is wrong without showing the token."""
        if len(token) > LONGEST:
            raise _refused("is too long")
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            if not isinstance(key_id, str) or key_id not in self._keys:
                raise _refused("names no key of this server in `kid`")
            key, algorithm = self._keys[key_id]
            payload = jwt.decode(token, key, [algorithm], {"verify_aud": False}, leeway=LEEWAY_S)
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
        name = claims.jti or hashlib.sha256(token.encode()).hexdigest()[:32]
        signed = VerifiedToken(key_id, claims, f"{key_id}.{name}", self._ceilings[key_id])
        if excess := ", ".join(sorted(signed.grants - signed.ceiling)):
            hint = f"To allow it, add it to what API_KEY_GRANTS names for {key_id}: see docs/howto/access.md."
            raise NotAdmitted(f"The token grants {excess}, which its key may not.", hint=hint)
        life_s = PROGRAM_LIFE_S if signed.grants <= PROGRAM_GRANTS else LIFE_S
        if claims.exp - claims.iat > life_s:
            raise _refused(f"lives longer than {life_s} seconds")
        return signed


def looks_signed(token: str) -> bool:
    """Return whether `token` looks like a JSON Web Token."""
    return SHAPE.match(token) is not None


def _refused(why: str) -> NotAdmitted:
    return NotAdmitted(f"The token {why}.", hint="Create a new one with a key from API_KEYS: see docs/howto/access.md.")


def _ceiling(entry: str, keys: Mapping[str, object]) -> tuple[str, frozenset[str]]:
    """Return the key of an entry of API_KEY_GRANTS, and the most that it may grant. Raises `SettingsError`."""
    key_id, _, names = entry.partition(":")
    ceiling = frozenset(names.split("+"))
    if key_id not in keys or not ceiling <= {*Grant, TOOLS}:
        raise SettingsError(
            f"API_KEY_GRANTS holds {entry!r}, which is not an id of API_KEYS, a colon and grants.",
            hint=f"Write id:grant+grant, of {', '.join([*Grant, TOOLS])}.",
        )
    return key_id, ceiling


def _usable(key_id: str, value: str) -> tuple[str | PublicKey, str]:
    """Return the secret, or the public key of the file, and its algorithm. Raises `SettingsError`."""
    if not value.startswith(KEY_FILE):
        return value, "HS256"
    try:
        match load_pem_public_key(Path(value.removeprefix(KEY_FILE)).read_bytes()):
            case RSAPublicKey() as key if key.key_size >= RSA_BITS_MIN:
                return key, "RS256"
            case EllipticCurvePublicKey(curve=SECP256R1()) as key:
                return key, "ES256"
            case Ed25519PublicKey() as key:
                return key, "EdDSA"
        why = "is of an unsupported kind"
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        why = f"cannot be read ({type(error).__name__})"
    raise SettingsError(
        f"The public key of {key_id} in API_KEYS {why}.",
        hint=f"Name a PEM file with a public key: RSA of {RSA_BITS_MIN} bits or more, P-256 or Ed25519.",
    )
