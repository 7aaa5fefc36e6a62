"""API keys sign tokens: valid ones are taken, others are refused with the reason."""

import hmac
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as elliptic_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode
from pydantic import SecretStr
from starlette.requests import HTTPConnection

from backend.access.access import Access
from backend.access.credentials import Credentials, Signatures
from backend.access.keys import LIFE_S, PROGRAM_LIFE_S, ApiKeys
from backend.access.principal import Grant, ToolScope
from backend.errors import NotAdmitted, SettingsError
from backend.settings.access import key_pairs

SECRET = "s" * 32
CLAIMS: dict[str, Any] = {"sub": "ada", "grants": {"call": True}}


def keys() -> ApiKeys:
    return ApiKeys({"shop": SECRET, "other": "o" * 32})


def token(secret: Any = SECRET, kid: str | None = "shop", algorithm: str = "HS256", **claims: Any) -> str:
    now = int(time.time())
    payload = {name: value for name, value in ({"iat": now, "exp": now + 60} | CLAIMS | claims).items() if value != ""}
    return jwt.encode(payload, secret, algorithm=algorithm, headers={"kid": kid} if kid else None)


def test_a_token_names_its_user_and_its_grants() -> None:
    granted = {"call": True, "chat": True, "memory": False, "tools": ["calculate"]}
    signed = keys().read(token(grants=granted, conversation="c1", origin="https://shop.example"))
    assert signed.user == "shop.ada", "the id does not begin with the key"
    assert signed.grants == {Grant.CALL, Grant.CHAT, Grant.MCP_EXTERNAL}
    assert signed.tools == frozenset({"calculate"})
    assert (signed.claims.conversation, signed.claims.origin) == ("c1", "https://shop.example")


NOW = int(time.time())


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"secret": "x" * 32}, "signature"),
        ({"kid": "other"}, "signature"),
        ({"kid": "nobody"}, "kid"),
        ({"kid": None}, "kid"),
        ({"secret": "", "algorithm": "none"}, "signature"),
        ({"algorithm": "HS512", "secret": SECRET * 2}, "signature"),
        ({"exp": NOW - 120, "iat": NOW - 180}, "expired"),
        ({"exp": NOW + LIFE_S + 1_000}, "lives longer"),
        ({"iat": NOW - 10 * LIFE_S}, "lives longer"),
        ({"exp": NOW + 2 * PROGRAM_LIFE_S, "grants": {"mcp": True}}, "lives longer"),
        ({"exp": NOW + PROGRAM_LIFE_S, "grants": {"mcp": True, "chat": True}}, "lives longer"),
        ({"iat": NOW + 600, "exp": NOW + 700}, "future"),
        ({"exp": ""}, "exp"),
        ({"iat": ""}, "iat"),
        ({"sub": ""}, "sub"),
        ({"sub": "ada:admin"}, "sub"),
        ({"sub": "a" * 91}, "sub"),
        ({"grants": ""}, "grants"),
        ({"grants": {"everything": True}}, "grants.everything"),
        ({"grants": {"admin": "yes"}}, "grants.admin"),
        ({"origin": "*"}, "origin"),
    ],
)
def test_a_faulty_token_is_refused_with_the_reason(made: dict[str, Any], why: str) -> None:
    since = int(time.time()) - NOW  # `NOW` is the time of the import, which may be long ago
    made = {name: value + since if name in ("exp", "iat") and value else value for name, value in made.items()}
    if made.get("algorithm") == "none":
        made["secret"] = None
    with pytest.raises(NotAdmitted, match=why) as refused:
        keys().read(token(**made))
    assert "ada" not in str(refused.value)


def test_a_token_for_tools_only_may_be_valid_for_a_year() -> None:
    granted = {"mcp": True, "notify": True, "mcp_external": True}
    assert keys().read(token(iat=NOW, exp=NOW + PROGRAM_LIFE_S, grants=granted)).user == "shop.ada"


@pytest.mark.parametrize(
    ("granted", "ceiling", "excess"),
    [
        ({"admin": True}, (), "admin"),
        ({"on_behalf": True}, (), "on_behalf"),
        ({"chat": True, "memory": True}, ("shop:chat+call",), "memory"),
        ({"chat": True}, ("other:chat", "shop:call"), "chat"),
        ({"chat": True, "mcp": True, "tools": ["calculate"]}, (), ""),
        ({"admin": True, "on_behalf": True}, ("shop:admin+on_behalf",), ""),
        ({"call": True, "tools": ["calculate"]}, ("shop:call",), ""),
    ],
)
def test_a_key_grants_at_most_what_the_operator_gave_it(
    granted: dict[str, Any], ceiling: tuple[str, ...], excess: str
) -> None:
    of_shop = ApiKeys({"shop": SECRET, "other": "o" * 32}, ceiling)
    if not excess:
        assert of_shop.read(token(grants=granted)).grants == {Grant(each) for each in granted if each != "tools"} | (
            {Grant.MCP_EXTERNAL} if "tools" in granted and not ceiling else set()
        )
        return
    with pytest.raises(NotAdmitted, match=f"grants {excess}, which") as refused:
        of_shop.read(token(grants=granted))
    assert "API_KEY_GRANTS" in refused.value.hint and "shop" in refused.value.hint


@pytest.mark.parametrize("entry", ["shop", "shop:", "shop:everything", "nobody:call", "call", "shop:call,shop:admin"])
def test_a_ceiling_of_no_key_or_no_grant_is_refused_as_a_setting(entry: str) -> None:
    with pytest.raises(SettingsError, match="API_KEY_GRANTS"):
        ApiKeys({"shop": SECRET}, entry.split(","))


@pytest.mark.parametrize("nonsense", ["eyJ.a.b", "eyJhbGciOiJIUzI1NiJ9.e30.x", "eyJ" + "a" * 10_000 + ".b.c"])
def test_a_string_that_only_looks_like_a_token_is_refused(nonsense: str) -> None:
    with pytest.raises(NotAdmitted):
        keys().read(nonsense)


def scope_of(given: ApiKeys, shown: str) -> ToolScope:
    """Return how far a caller with this token is trusted."""
    headers = [(b"authorization", f"Bearer {shown}".encode())]
    connection = HTTPConnection({"type": "http", "headers": headers, "client": ("203.0.113.9", 9)})
    return Credentials(Signatures(b"k" * 32, token_age_s=9), Access(), given).identify(connection).principal.scope


def public_pem(private: Any, folder: Path) -> Path:
    """Write the public half of a key into a file."""
    file = folder / "partner.pem"
    file.write_bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return file


@pytest.mark.parametrize(
    ("algorithm", "generate"),
    [
        ("RS256", lambda: rsa_key(65_537, 2_048)),
        ("ES256", lambda: elliptic_key(SECP256R1())),
        ("EdDSA", Ed25519PrivateKey.generate),
    ],
)
def test_a_public_key_reads_only_what_its_private_half_signed(
    algorithm: str, generate: Callable[[], Any], tmp_path: Path
) -> None:
    private = generate()
    file = public_pem(private, tmp_path)
    partner = ApiKeys(key_pairs(SecretStr(f"partner:file:{file}")))
    assert partner.read(token(private, "partner", algorithm)).user == "partner.ada"
    for beyond in ("admin", "on_behalf", "mcp", "mcp_copilot"):
        with pytest.raises(NotAdmitted, match=beyond):
            partner.read(token(private, "partner", algorithm, grants={beyond: True}))
    named = {"call": True, "tools": ["github_issue"]}
    assert scope_of(partner, token(private, "partner", algorithm, grants=named)) is ToolScope.SIGNED_IN
    assert scope_of(keys(), token(grants=named)) is ToolScope.OPERATOR, "a program of the operator names any tool"
    signed, _, _ = token(kid="partner").encode().rpartition(b".")  # the forger uses the public key as a secret
    forged = signed + b"." + base64url_encode(hmac.digest(file.read_bytes(), signed, "sha256"))
    for faulty in (forged.decode(), token(generate(), "partner", algorithm)):
        with pytest.raises(NotAdmitted, match="signature"):
            partner.read(faulty)
    with pytest.raises(SettingsError):
        partner.sign("partner", CLAIMS)


def test_a_weak_or_missing_public_key_is_refused_as_a_setting(tmp_path: Path) -> None:
    weak = public_pem(rsa_key(65_537, 1_024), tmp_path)
    (tmp_path / "no.pem").write_text("no key")
    for file in (weak, tmp_path / "no.pem", tmp_path / "missing.pem"):
        with pytest.raises(SettingsError):
            ApiKeys({"partner": f"file:{file}"})


@pytest.mark.parametrize(
    "value",
    ["secret", f":{SECRET}", f"Shop:{SECRET}", "shop:short", f"shop:{SECRET},shop:{SECRET}", f"oidc:{SECRET}"],
)
def test_the_refusal_of_a_faulty_key_does_not_contain_the_secret(value: str) -> None:
    with pytest.raises(ValueError, match=r"id:secret|characters") as refused:
        key_pairs(SecretStr(value))
    assert SECRET not in str(refused.value) and "short" not in str(refused.value)
