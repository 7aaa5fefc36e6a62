"""The names of the server, its trusted proxies, and access to its metrics, over real sockets."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from backend.http.origins import allowed_hosts, host_name
from backend.settings.settings import load_settings
from tests.http.world import world
from tests.support.running_server import running_server

TOKEN = "t" * 20


def get(url: str, path: str, **headers: str) -> httpx2.Response:
    with httpx2.Client(base_url=url, trust_env=False) as client:
        return client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


async def test_a_server_answers_only_to_its_own_host_names() -> None:
    with running_server(ALLOWED_HOSTS="voice.example.com,*.example.org") as server:
        assert "ALLOWED_HOSTS" in get(server.url, "/nowhere", host="evil.example").text
        for name in ("evil.example:80", "localhost.evil.example", "example.org", "127.0.0.1@evil.example", "[", ""):
            assert get(server.url, "/healthz", host=name).status_code in (400, 421), name
        for name in ("localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:80", "voice.example.com", "a.example.org:81"):
            assert get(server.url, "/healthz", host=name).status_code == 200, name
        address = server.url.replace("http", "ws") + "/ws/x"
        with pytest.raises(InvalidStatus) as refused:
            async with connect(address, additional_headers={"Host": "evil.example"}):
                pass
        assert refused.value.response.status_code in (400, 403)


async def test_metrics_are_for_this_machine_and_bearers_of_the_token(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser:
        assert (await browser.get("/metrics")).status_code == 200
        assert (await browser.get("/metrics", headers={"x-forwarded-for": "203.0.113.1"})).status_code == 404
    async with world(tmp_path, metrics_token=TOKEN) as here, here.browser() as browser:
        for shown, status in (("", 401), (f"Bearer {TOKEN}x", 401), (f"Bearer {TOKEN}", 200)):
            assert (await browser.get("/metrics", headers={"authorization": shown})).status_code == status


@pytest.mark.parametrize(("trusted", "believed"), [("192.0.2.1", False), ("127.0.0.1", True)])
async def test_only_a_trusted_proxy_may_name_the_address_of_a_caller(
    tmp_path: Path, trusted: str, believed: bool
) -> None:
    async with world(tmp_path, trusted_proxies=[trusted]) as here, here.browser() as browser:
        answer = await browser.get("/healthz", headers={"x-forwarded-proto": "https"})
        assert ("strict-transport-security" in answer.headers) is believed


@pytest.mark.parametrize(
    ("host", "name"),
    [("A.Example:80", "a.example"), ("a.example.", "a.example"), ("[::1]:8", "::1"), ("[", ""), ("", "")],
)
def test_a_host_is_read_without_its_port(host: str, name: str) -> None:
    assert host_name(host) == name


def test_the_configured_host_names_are_allowed() -> None:
    given: dict[str, Any] = {"rtc_force_host": "192.0.2.7", "allowed_origins": "https://page.example:8443"}
    assert allowed_hosts(load_settings(**given)) == {"192.0.2.7", "page.example"}
