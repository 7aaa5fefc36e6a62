"""Which names the server goes by, which proxies it believes, and who reads its metrics: over real sockets."""

from __future__ import annotations

import socket
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from backend.http.hosts import allowed_hosts, host_name
from backend.settings.settings import load_settings
from tests.support.running_server import running_server

TOKEN = "t" * 20
PATHS = (
    *("/", "/app.js", "/healthz", "/readyz", "/metrics", "/mode", "/notification/me", "/nowhere"),
    *("/api/config", "/api/me", "/api/tasks", "/api/openapi.json", "/api/events/x"),
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str, path: str, **headers: str) -> httpx2.Response:
    with httpx2.Client(base_url=url, trust_env=False) as client:
        return client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


async def test_a_server_answers_for_its_own_names_only() -> None:
    port = free_port()
    with running_server(METRICS_PORT=str(port), ALLOWED_HOSTS="voice.example.com,*.example.org") as server:
        for path in PATHS:
            answer = get(server.url, path, host="evil.example")
            assert answer.status_code == 421, path
            assert "ALLOWED_HOSTS" in answer.text
        for name in ("evil.example:80", "localhost.evil.example", "example.org", "127.0.0.1@evil.example", "[", ""):
            assert get(server.url, "/healthz", host=name).status_code in (400, 421), name
        for name in ("localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:80", "voice.example.com", "a.example.org:81"):
            assert get(server.url, "/healthz", host=name).status_code == 200, name
        address = server.url.replace("http", "ws") + "/ws/x"
        with pytest.raises(InvalidStatus) as refused:
            async with connect(address, additional_headers={"Host": "evil.example"}):
                pass
        assert refused.value.response.status_code in (400, 403)
        inside = f"http://127.0.0.1:{port}"
        assert "voice_sessions_live" in get(inside, "/metrics", host="backend.voice.svc").text
        assert get(inside, "/healthz").status_code == get(inside, "/api/config").status_code == 404


def test_metrics_are_for_this_machine_or_whoever_has_the_token() -> None:
    with running_server() as server:
        assert get(server.url, "/metrics").status_code == 200
        assert get(server.url, "/metrics", x_forwarded_for="203.0.113.1").status_code == 404
    with running_server(METRICS_TOKEN=TOKEN) as server:
        assert get(server.url, "/metrics").status_code == 401
        assert get(server.url, "/metrics", authorization=f"Bearer {TOKEN}x").status_code == 401
        assert get(server.url, "/metrics", authorization=f"Bearer {TOKEN}").status_code == 200


def test_only_trusted_proxies_are_believed() -> None:
    with running_server(TRUSTED_PROXIES="192.0.2.1") as server:
        assert "strict-transport-security" not in get(server.url, "/healthz", x_forwarded_proto="https").headers
    with running_server() as server:
        assert "strict-transport-security" in get(server.url, "/healthz", x_forwarded_proto="https").headers


@pytest.mark.parametrize(
    ("host", "name"),
    [("A.Example:80", "a.example"), ("a.example.", "a.example"), ("[::1]:8", "::1"), ("[", ""), ("", "")],
)
def test_a_host_is_read_without_its_port(host: str, name: str) -> None:
    assert host_name(host) == name


def test_what_is_configured_is_allowed() -> None:
    given: dict[str, Any] = {"rtc_force_host": "192.0.2.7", "allowed_origins": "https://page.example:8443"}
    assert allowed_hosts(load_settings(**given)) == {"192.0.2.7", "page.example"}
