"""The settings and the address that the server listens on decide who is admitted."""

from typing import Any

import pytest

from backend.access.access import access_summary, decide_access
from backend.access.principal import ToolScope
from backend.app.extensions import installed
from backend.errors import SetupError
from tests.http.world import settings_with

SECRETS_OF_EXTENSIONS = [name for each in installed().extensions for name in each.secrets]
CREDENTIALS: list[dict[str, Any]] = [
    {"openai_api_key": "sk-of-the-operator"},
    {"finnhub_api_key": "of-the-operator"},
    {"mcp": {"servers": '{"files": {"command": "files"}}'}},
    *({name.lower(): "https://secret.of-the-operator.example/"} for name in SECRETS_OF_EXTENSIONS),
]


@pytest.mark.parametrize("credential", CREDENTIALS, ids=lambda each: next(iter(each)))
def test_an_open_server_with_credentials_does_not_listen_beyond_loopback(credential: dict[str, Any]) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "voice.example.com"):
        with pytest.raises(SetupError) as refused:
            settings = settings_with(**credential)
            decide_access(settings, host, installed().credentials(settings))
        assert "ACCESS_OPEN_ANYWHERE" in refused.value.hint
        assert "of-the-operator" not in str(refused.value), "the message contains the credential"


def test_an_open_server_without_credentials_listens_anywhere() -> None:
    assert decide_access(settings_with(), "0.0.0.0").scope_here is ToolScope.ANONYMOUS


def test_the_summary_at_the_start_says_who_is_admitted() -> None:
    keyed = {"access": "open,key", "api_keys": f"shop:{'s' * 32}"}
    assert access_summary(settings_with(), "127.0.0.1") == "open: everyone on this machine"
    assert access_summary(settings_with(**keyed), "::") == "open,key: everyone and programs with a key"


def test_a_container_counts_as_open_to_others_unless_it_is_published_on_loopback() -> None:
    here = settings_with(openai_api_key="sk-1", publish_on="127.0.0.1")
    assert decide_access(here, "0.0.0.0").scope_here is ToolScope.OPERATOR
    assert "on this machine" in access_summary(here, "0.0.0.0")
    with pytest.raises(SetupError):
        decide_access(settings_with(openai_api_key="sk-1", publish_on="0.0.0.0"), "0.0.0.0")


def test_a_setting_lets_an_open_server_with_credentials_listen_anywhere() -> None:
    settings = settings_with(openai_api_key="sk-1", access_open_anywhere=True)
    assert decide_access(settings, "0.0.0.0").scope_here is ToolScope.ANONYMOUS
    assert "ACCESS_OPEN_ANYWHERE" in access_summary(settings, "0.0.0.0")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.2.1"])
def test_each_caller_of_an_open_server_on_loopback_is_the_operator(host: str) -> None:
    assert decide_access(settings_with(openai_api_key="sk-1"), host).scope_here is ToolScope.OPERATOR


def test_without_the_open_mode_a_local_caller_is_not_the_operator() -> None:
    settings = settings_with(access="key", api_keys=f"shop:{'s' * 32}", openai_api_key="sk-1")
    assert decide_access(settings, "127.0.0.1").scope_here is ToolScope.ANONYMOUS
