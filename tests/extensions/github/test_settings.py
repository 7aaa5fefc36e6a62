"""The settings of the GitHub tool: which values are refused, and that the token is not shown."""

import pytest

from backend.errors import SettingsError
from backend.extensions.github.settings import GitHubSettings
from backend.settings.plugin import read_settings


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("repo", "hello-world", "GITHUB__REPO: 'hello-world' is not owner/name, e.g. octocat/hello-world"),
        ("repo", "a/b, ../c", "GITHUB__REPO: '../c' is not owner/name"),
        ("base_url", "http://github.example", "GITHUB__BASE_URL: must start with https://"),
    ],
)
def test_a_wrong_value_is_refused_with_advice(name: str, value: str, advice: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings(GitHubSettings, {"github": {name: value}}, env_file=None)
    assert advice in str(refused.value) and refused.value.hint


def test_the_token_never_shows() -> None:
    settings = read_settings(GitHubSettings, {"github": {"token": "gh-very-secret"}}, env_file=None)
    assert "very-secret" not in f"{settings!r} {settings}"
