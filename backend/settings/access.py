"""Settings of admission: who may use the server, and the keys that sign tokens."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from backend.settings.network import Names, Origins, as_list, split
from backend.settings.plugin import PluginSettings

AccessMode = Literal["open", "key", "oidc"]
"""`open`: everyone; `key`: programs with a token that one of API_KEYS signed; `oidc`: users who have signed in."""

KEY_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
SECRET_MIN = 32
"""The least characters of a secret: HS256 takes keys of 256 bits (RFC 7518, 3.2)."""
KEY_FILE = "file:"
"""The prefix of a key's value that names the file of a public key instead of a secret."""
RESERVED = frozenset({"oidc"})
"""Ids that would make the users of a key look like those of another way in."""


def key_pairs(value: SecretStr | None) -> dict[str, str]:
    """Return the secrets, or `file:` and a path, by key id. Raises `ValueError`, which repeats no secret."""
    keys: dict[str, str] = {}
    for number, part in enumerate(split(value.get_secret_value()) if value else [], 1):
        key_id, colon, secret = part.partition(":")
        if not colon or not KEY_ID.fullmatch(key_id) or key_id in RESERVED or key_id in keys:
            raise ValueError(  # tokens and users are named after the id, so it must be one and unique
                f"number {number} is not id:secret with an id of its own, of lower-case letters, digits and hyphens"
            )
        if not secret.startswith(KEY_FILE) and len(secret) < SECRET_MIN:
            raise ValueError(
                f"the secret of {key_id} needs at least {SECRET_MIN} characters, e.g. from `openssl rand -hex 32`"
            )
        keys[key_id] = secret
    return keys


class AccessSettings(PluginSettings):
    """The rules of admission, and the secrets that prove an identity."""

    access: Annotated[list[AccessMode], NoDecode, BeforeValidator(as_list), Field(min_length=1)] = Field(
        ["open"], description="Who is admitted: open (everyone), key (see API_KEYS), oidc; several, comma-separated."
    )
    access_open_anywhere: bool = Field(
        False, description="Let ACCESS=open listen beyond loopback although keys or other credentials are set."
    )
    allowed_origins: Origins = Field(
        [], description="Extra browser origins, comma-separated; our own is always allowed."
    )
    api_keys: SecretStr | None = Field(
        None, description="Keys that sign tokens (ACCESS=key), id:secret, comma-separated; id:file:PATH: a public key."
    )
    api_key_grants: Names = Field(
        [], description="The most that tokens of a key grant, id:grant+grant, comma-separated; see access.md."
    )
    secret_key: SecretStr | None = Field(
        None,
        description="Keys of cookies and tokens, comma-separated, the first signs; unset: made in DATA_DIR.",
    )
    admin_token: SecretStr | None = Field(
        None, min_length=16, description="Token that opens /admin, 16 characters or more; unset: no admin page."
    )
    security_log: Path | None = Field(
        None, description="File of the security log, one line of JSON for each event; unset: standard output."
    )
    identify_by_fingerprint: bool = Field(
        False, description="For demonstrations: a browser fingerprint restores the data of a lost cookie."
    )

    @field_validator("api_keys")
    @classmethod
    def _api_keys(cls, value: SecretStr | None) -> SecretStr | None:
        key_pairs(value)
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if "key" in self.access and not self.api_keys:
            raise ValueError("ACCESS=key needs API_KEYS: the keys that sign the tokens")
        return self
