"""The project's nginx.conf in a real nginx in front of the real server."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect

from backend.http.admission import GRANTS
from backend.testing.services.server import json_reply, serving
from tests.support.certificates import certificate
from tests.support.nginx import ROOT, Certificate, running_nginx
from tests.support.running_server import RunningServer, placed_call, running_server
from tests.support.waiting import until

OWN = {
    *("connection", "content-length", "date", "etag", "last-modified", "server", "transfer-encoding"),
    *("x-accel-buffering", "x-request-id"),
}
"""The headers that each server makes for itself or for the other; none says what a browser may do."""
OTHERS = {"/", "/admin/", "/client/", "/docs/", "/embed.jsx", "/nothing.js", "/nothing", "/shared", "/v2/x", "/.git/x"}


@dataclass(frozen=True)
class Site:
    """The server through nginx, and directly."""

    front: RunningServer
    behind: RunningServer


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with (
        running_server(BUDGETS__NEW_USERS_PER_DAY="0") as running,
        running_nginx(httpx2.URL(running.url).port or 80, tmp_path_factory.mktemp("nginx")) as url,
    ):
        yield Site(replace(running, url=url), running)


def ask(running: RunningServer, method: str, path: str, **options: object) -> httpx2.Response:
    with httpx2.Client(base_url=running.url, trust_env=False, timeout=10) as http:
        return http.request(method, path, **options)  # type: ignore[arg-type]


def host_of(running: RunningServer) -> str:
    return httpx2.URL(running.url).netloc.decode()


def test_the_page_and_its_modules_are_served(site: Site) -> None:
    page = ask(site.front, "GET", "/")
    assert page.content == (ROOT / "frontend" / "index.html").read_bytes()
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    module = ask(site.front, "GET", "/main.js", headers={"Accept-Encoding": "gzip"})
    assert module.headers["content-type"].split(";")[0] in ("text/javascript", "application/javascript")
    assert module.text == (ROOT / "frontend" / "main.js").read_text()
    assert ask(site.front, "GET", "/admin/").content == (ROOT / "frontend" / "admin" / "index.html").read_bytes()
    assert ask(site.front, "GET", "/nothing.js").status_code == 404
    assert "paths" in ask(site.front, "GET", "/openapi.json").json()


def test_text_is_compressed(site: Site) -> None:
    page = ask(site.front, "GET", "/", headers={"Accept-Encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"


def headers(http: httpx2.Client, running: RunningServer, path: str, scheme: str) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of `path`, and leave its body, which may be a stream without an end."""
    sent = {"Accept-Encoding": "identity", "X-Forwarded-Proto": scheme}
    http.cookies.clear()  # each request is a first visit
    with http.stream("GET", running.url + path, headers=sent) as answer:
        found = [(name, value) for name, value in answer.headers.multi_items() if name not in OWN]
    assert len(found) == len(dict(found)), f"{path} sends a header twice: {found}"
    return answer.status_code, {name: alike(name, value, running) for name, value in found}


def alike(name: str, value: str, running: RunningServer) -> str:
    """Return the value without what differs between two requests: the address, and the user in a cookie."""
    value = value.replace(host_of(running), "HOST")
    return re.sub("=[^;]*;", "=…;", value, count=1) if name == "set-cookie" else value


def public_paths(running: RunningServer) -> set[str]:
    """Return the page's files and folders, the paths of the API, and some that are neither."""
    files = [each for each in (ROOT / "frontend").rglob("*") if each.suffix != ".ts"]  # a type that few machines know
    entries = {f"/{each.relative_to(ROOT / 'frontend').as_posix()}" for each in files} - {"/index.html"}
    described = {re.sub("{[^}]*}", "x", path) for path in ask(running, "GET", "/openapi.json").json()["paths"]}
    # /index.html by this name is the one file that the backend answers with a cookie.
    return (entries | described | GRANTS.keys() | OTHERS) - {"/metrics"}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_every_public_path_has_the_headers_of_the_server(site: Site, scheme: str) -> None:
    with httpx2.Client(trust_env=False, timeout=60) as http:
        for path in sorted(public_paths(site.behind)):
            front, behind = (headers(http, running, path, scheme) for running in (site.front, site.behind))
            assert front == behind, path


def test_errors_of_the_api_pass_through_nginx_unchanged(site: Site) -> None:
    assert ask(site.front, "GET", "/api/config").json()["responder"]["offline"] is True
    assert ask(site.front, "GET", "/healthz").status_code == 200
    assert ask(site.front, "GET", "/readyz").status_code == 200
    assert ask(site.front, "GET", "/notification/me").json() == {"notifications": []}
    unknown = ask(site.front, "GET", "/api/sessions/unknown")
    assert (unknown.status_code, "message" in unknown.json()["error"]) == (404, True)
    no_model = ask(site.front, "GET", "/v1/models/unknown")
    assert (no_model.status_code, "message" in no_model.json()["error"]) == (404, True)
    too_large = ask(site.front, "POST", "/api/rtc/offer", json={"sdp": "v" * 70_000})
    assert (too_large.status_code, "message" in too_large.json()["error"]) == (413, True)


def test_shared_transcripts_come_from_the_backend(site: Site) -> None:
    for path in ("/shared/cut", f"/shared/{'x' * 22}"):
        front, behind = ask(site.front, "GET", path), ask(site.behind, "GET", path)
        assert (front.status_code, front.content) == (behind.status_code, behind.content)
    assert ask(site.front, "GET", "/shared.js").content == (ROOT / "frontend" / "shared.js").read_bytes()


def test_metrics_are_not_reachable_through_nginx(site: Site) -> None:
    assert ask(site.behind, "GET", "/metrics").status_code == 200
    assert ask(site.front, "GET", "/metrics").status_code == 404


def test_a_foreign_page_is_refused_through_nginx(site: Site) -> None:
    assert ask(site.front, "POST", "/api/sessions", json={}, headers={"Origin": site.front.url}).is_success
    foreign = ask(site.front, "POST", "/api/sessions", json={}, headers={"Origin": "http://elsewhere.example"})
    assert foreign.status_code == 403


async def test_the_profile_with_tls_serves_the_page_and_calls_with_hsts(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    tls = Certificate(files["server"], files["server key"])
    with running_server() as behind, running_nginx(httpx2.URL(behind.url).port or 80, tmp_path, tls) as url:
        trusting = ssl.create_default_context(cafile=str(files["ca"]))
        async with httpx2.AsyncClient(base_url=url, verify=trusting, trust_env=False) as http:
            for path in ("/", "/api/config", "/nothing.js"):
                answer = await http.get(path)
                assert answer.headers.get_list("strict-transport-security") == ["max-age=31536000"], path
            page = await http.get("/")
            assert f"wss://{httpx2.URL(url).netloc.decode()}" in page.headers["content-security-policy"]
            session = (await http.post("/api/sessions", json={}, headers={"Origin": url})).json()
            socket = f"{url.replace('https', 'wss')}/ws/{session['session_id']}"
            async with connect(socket, ssl=trusting, proxy=None) as websocket:
                await websocket.send(json.dumps({"type": "token", "token": session["token"]}))
                assert json.loads(await websocket.recv()) == {"type": "ready"}
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        with pytest.warns(DeprecationWarning):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(url, verify=old, trust_env=False)


@pytest.mark.document("001", "event stream")
async def test_events_and_audio_arrive_during_the_call(site: Site) -> None:
    async with placed_call(site.front, transport="ws") as call:  # its event stream is open from here on
        await call.http.post(f"/api/sessions/{call.ticket.session_id}/messages", json={"text": "What can you do?"})
        await call.event("transcript", role="user")
        await call.hears_something(within_s=20.0)
        assert not call.events_of("session_ended")


async def test_the_backend_gets_the_real_address_of_the_caller(tmp_path: Path) -> None:
    async with serving(lambda request: json_reply({"ok": True})) as upstream:
        with running_nginx(httpx2.URL(upstream.url).port or 80, tmp_path) as url:
            async with httpx2.AsyncClient(trust_env=False) as http:
                await http.get(f"{url}/api/config", headers={"X-Forwarded-For": "6.6.6.6"})
                await http.get(f"{url}/api/config", headers={"X-Forwarded-Proto": "https"})
    plain, behind_tls = (request.headers for request in upstream.requests)
    assert plain["x-forwarded-for"] == "127.0.0.1"
    assert plain["x-forwarded-proto"] == "http"
    assert behind_tls["x-forwarded-proto"] == "https"
    assert plain["host"] == httpx2.URL(url).netloc.decode()


@asynccontextmanager
async def endless(tmp_path: Path) -> AsyncIterator[str]:
    """The URL of an nginx in front of a server that never answers."""
    taken = set[asyncio.StreamWriter]()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.add(writer)
        with suppress(OSError):
            await reader.read()
            writer.close()
            await writer.wait_closed()
        taken.discard(writer)

    async with await asyncio.start_server(take, "127.0.0.1", 0) as behind:
        with running_nginx(behind.sockets[0].getsockname()[1], tmp_path) as url:
            yield url
        await until(lambda: not taken)


def from_address(address: str) -> httpx2.AsyncClient:
    """Return a client with as many connections as it likes, all of them from `address`."""
    limits = httpx2.Limits(max_connections=None)
    return httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(local_address=address, limits=limits), timeout=30)


async def test_an_address_has_128_requests_at_the_same_time_and_others_have_theirs(tmp_path: Path) -> None:
    async with endless(tmp_path) as url, from_address("127.0.0.2") as busy, from_address("127.0.0.3") as other:
        waiting = [asyncio.create_task(busy.get(f"{url}/api/events/{number}")) for number in range(128)]

        async def is_refused() -> bool:
            return (await busy.get(f"{url}/favicon.svg")).status_code == 429

        await until(is_refused)
        refused = await busy.get(f"{url}/favicon.svg")
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        assert refused.headers["content-type"] == "application/json"
        assert set(refused.json()["error"]) == {"message", "hint"}
        assert (await other.get(f"{url}/favicon.svg")).status_code == 200
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_requests_beyond_ten_pages_wait_for_their_turn(tmp_path: Path) -> None:
    async with endless(tmp_path) as url, from_address("127.0.0.4") as eager, asyncio.timeout(60):
        begun = asyncio.get_running_loop().time()

        async def load(count: int) -> set[int]:
            return {(await eager.head(f"{url}/favicon.svg")).status_code for _ in range(count)}

        assert set().union(*await asyncio.gather(*(load(60) for _ in range(20)))) == {200}
        assert asyncio.get_running_loop().time() - begun > 1.5, "200 of 1,200 come at a hundred a second"
