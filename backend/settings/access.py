"""How the settings say who is admitted, and which keys sign their tokens."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import SecretStr

from backend.settings.network import split

AccessMode = Literal["open", "key", "oidc"]
"""`open`: everyone; `key`: programs with a token that one of API_KEYS signed; `oidc`: users who have signed in."""

KEY_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
SECRET_MIN = 32
"""Characters a secret must have at least: HS256 takes keys of 256 bits (RFC 7518, 3.2)."""
KEY_FILE = "file:"
"""How the value of a key begins that is no secret, but names the file of a public key."""
RESERVED = frozenset({"oidc"})
"""Ids that would make the users of a key look like those of another way in."""


def key_pairs(value: SecretStr | None) -> dict[str, str]:
    """Return the secrets, or `file:` and a path, by key id. Raises `ValueError`, which repeats no secret."""
    keys: dict[str, str] = {}
    for number, part in enumerate(split(value.get_secret_value()) if value else [], 1):
        key_id, colon, secret = part.partition(":")
        if not colon or not KEY_ID.fullmatch(key_id) or key_id in RESERVED or key_id in keys:
            raise ValueError(
                f"number {number} is not id:secret with an id of its own, of lower-case letters, digits and hyphens"
            )
        if not secret.startswith(KEY_FILE) and len(secret) < SECRET_MIN:
            raise ValueError(
                f"the secret of {key_id} needs at least {SECRET_MIN} characters, e.g. from `openssl rand -hex 32`"
            )
        keys[key_id] = secret
    return keys
