"""Settings of storage: Redis, the ledger's database, and how long they keep data."""

import re
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlsplit

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator

from backend.settings.plugin import PluginSettings

DAY_S = 86_400
EMBEDDED = "embedded"
"""The value of REDIS_URL for a Redis in DATA_DIR, without a look at this machine's own."""
LOCAL_REDIS = "redis://127.0.0.1:6379/0"
"""This machine's own. The name `localhost` may lead to ::1 first, where a container's port is not published."""


class MemorySettings(PluginSettings):
    """The place of user data, and the time it is kept."""

    redis_url: str | None = Field(
        None,
        repr=False,
        description="A Redis, e.g. rediss://host/0?ssl_ca_certs=/ca.pem; embedded: one in DATA_DIR; unset: "
        "localhost:6379 if its database is empty or ours, else as embedded.",
    )
    redis_password: SecretStr = Field(SecretStr(""), description="Its password, unless REDIS_URL holds one.")
    redis_password_file: Path | None = Field(None, description="A file with that password.")
    data_dir: Path = Field(Path("var"), description="Folder of the embedded Redis and generated secrets.")
    database_url: SecretStr = Field(
        SecretStr(""),
        description="Database of the ledger: postgresql://… or sqlite:////…; unset: `ledger.db` in DATA_DIR.",
    )
    ledger_retention_days: float = Field(
        90, ge=0, description="Days that conversations are kept in the ledger; 0: for good."
    )
    user_retention_days: int = Field(0, ge=0, description="Days user data is kept after its last change; 0: for good.")
    _local_redis_url: str | None = PrivateAttr(None)

    @property
    def local_redis_url(self) -> str | None:
        """The address of this machine's own Redis, with the password; None: REDIS_URL names another choice."""
        return self._local_redis_url

    @property
    def retention_s(self) -> int | None:
        """Return the seconds for which user data is kept after its last change; None: for good."""
        return self.user_retention_days * DAY_S or None

    @property
    def ledger_retention_s(self) -> float | None:
        """Return the seconds for which conversations are kept in the ledger; None: for good."""
        return self.ledger_retention_days * DAY_S or None

    @field_validator("redis_url")
    @classmethod
    def _redis_url(cls, value: str | None) -> str | None:
        if value and value != EMBEDDED and not re.match(r"(redis|rediss|unix)://", value):
            raise ValueError(
                "must start with redis://, rediss:// or unix://, e.g. redis://localhost:6379/0, or be `embedded`"
            )
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.redis_url == EMBEDDED:
            self.redis_url = None
            return self
        password = self.redis_password.get_secret_value()
        if not password and self.redis_password_file:
            password = read_password(self.redis_password_file)
        if self.redis_url:
            self.redis_url = with_password(self.redis_url, password)
        else:
            self._local_redis_url = with_password(LOCAL_REDIS, password)
        return self


def with_password(url: str, password: str) -> str:
    """Return `url` with the password, unless it has one."""
    parts = urlsplit(url)
    if not password or parts.password is not None:
        return url  # as it is written: `geturl` makes `unix:/path` of `unix:///path`, which is refused
    _, _, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{quote(parts.username or '', safe='')}:{quote(password, safe='')}@{place}").geturl()


def read_password(file: Path) -> str:
    """Return the password that `file` holds. Raises `ValueError` if there is none."""
    try:
        password = file.read_text().strip()
    except OSError as error:
        raise ValueError(f"REDIS_PASSWORD_FILE: {file} cannot be read ({error.strerror})") from error
    if not password:
        raise ValueError(f"REDIS_PASSWORD_FILE: {file} is empty")
    return password
