"""Settings of the GitHub tool (`GITHUB__…`)."""

import re

from pydantic import Field, SecretStr, field_validator

from backend.settings.network import LOOPBACK, split
from backend.settings.plugin import PluginSettings

REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9_.-]{1,100}")
"""The form of a repository's name: owner/name."""


class GitHubSettings(PluginSettings, env_prefix="GITHUB__"):
    """Without a token or a repository, there is neither the tool nor its Thinker."""

    token: SecretStr | None = Field(
        None, description="GitHub token that may read and write issues; unset: the tool github_issue is not offered."
    )
    repo: str = Field(
        "", description="The repository, owner/name; of several, comma-separated, the first is the usual one."
    )
    base_url: str = Field(
        "https://api.github.com", description="GitHub's API; of an Enterprise server https://host/api/v3."
    )

    @field_validator("repo")
    @classmethod
    def _names(cls, value: str) -> str:
        for name in split(value):
            if not REPOSITORY.fullmatch(name) or name.endswith(("/.", "/..")):
                raise ValueError(f"{name!r} is not owner/name, e.g. octocat/hello-world")
        return value.strip()

    @field_validator("base_url")
    @classmethod
    def _safe_for_a_token(cls, value: str) -> str:
        if not re.match(r"https://[^/\s@]+", value) and not re.match(LOOPBACK, value):
            raise ValueError("must start with https:// and hold no password: a token is sent there")
        return value.rstrip("/")

    @property
    def repos(self) -> list[str]:
        """The repositories that may be asked for, the usual one first."""
        return split(self.repo)

    @property
    def ready(self) -> bool:
        """Return whether there is a repository to ask, and a token."""
        return self.token is not None and bool(self.repos)
