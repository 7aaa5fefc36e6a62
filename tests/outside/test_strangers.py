"""What strangers try, over HTTP, against a real server of one process and of two: none of it gets them anything.

The routes are those of the OpenAPI document, so that a new one is tried as well.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import jwt
import pytest

from backend.access.keys import ApiKeys
from backend.http.grants import grant_for
from tests.support.running_server import RunningServer, a_browser, running_server
from tests.support.waiting import until

SECRET = "s" * 32
ADMIN_TOKEN = "the operator's own token"
NOWHERE = "A" * 22
"""An id that nothing has."""
FOREIGN = "https://evil.example"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["1", "2"], ids=["one worker", "two workers"])
def open_server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """A server that admits everyone."""
    with running_server(None, WORKERS=request.param, ADMIN_TOKEN=ADMIN_TOKEN) as running:
        yield running


@pytest.fixture(scope="module", params=["1", "2"], ids=["one worker", "two workers"])
def keyed_server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """A server that admits programs with a token."""
    with running_server(None, WORKERS=request.param, ACCESS="key", API_KEYS=f"shop:{SECRET}") as running:
        yield running


async def operations(browser: httpx2.AsyncClient) -> list[tuple[str, str]]:
    """Every method and path of the document."""
    paths = (await browser.get("/api/openapi.json")).json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def logged(server: RunningServer) -> list[dict[str, Any]]:
    """The security log so far."""
    return [json.loads(line) for line in (server.folder / "security.log").read_text().splitlines()]


def filled(path: str, value: str) -> str:
    """The path with `value` for everything that it leaves open."""
    return "/".join(value if part.startswith("{") else part for part in path.split("/"))


async def test_what_belongs_to_somebody_else_is_what_does_not_exist_on_every_route(open_server: RunningServer) -> None:
    async with a_browser(open_server) as ana, a_browser(open_server) as eve:
        session = (await ana.post("/api/sessions", json={})).json()
        conversation = (await ana.get(f"/api/sessions/{session['session_id']}")).json()["conversation_id"]
        task = (await ana.post("/api/tasks", json={"instruction": "Research tides."})).json()["id"]
        await eve.get("/api/me")
        theirs = {"session_id": session["session_id"], "task_id": task, "conversation_id": conversation}
        tried = 0
        for method, path in await operations(eve):
            for name, id_ in theirs.items():
                if f"{{{name}}}" in path and not path.startswith("/api/admin"):
                    asked = [
                        await eve.request(method, filled(path, value), json={"text": "x", "allowed": True})
                        for value in (id_, NOWHERE)
                    ]
                    assert [each.status_code for each in asked] in ([404, 404], [200, 200]), path
                    assert asked[0].json() == asked[1].json(), path
                    tried += 1
        assert tried >= 14
        assert (await ana.get(f"/api/sessions/{session['session_id']}")).json()["state"] == "reserved"
        assert (await ana.get(f"/api/tasks/{task}")).status_code == 200
        await until(lambda: any(line["event"] == "session_refused" for line in logged(open_server)))


async def test_a_cookie_that_was_tampered_with_is_nobodys(open_server: RunningServer) -> None:
    async with a_browser(open_server) as ana:
        known = {"changes": [{"op": "add_fact", "text": "Likes tea."}]}
        assert (await ana.patch("/api/me", json=known)).status_code == 200
        name, cookie = next(iter(ana.cookies.items()))
    other = cookie[:-2] + ("A" if cookie[-2] != "A" else "B") + cookie[-1]  # the last one has bits that mean nothing
    for forged in (other, cookie.split(".")[0], "x" * 300, "'; --"):
        async with a_browser(open_server) as eve:
            shown = await eve.get("/api/me", headers={"cookie": f"{name}={forged}"})
        assert shown.status_code in (200, 401)
        assert "Likes tea." not in shown.text


async def test_a_foreign_page_changes_nothing_and_reads_nothing(open_server: RunningServer) -> None:
    async with a_browser(open_server) as ana:
        for method, path in await operations(ana):
            if path.startswith("/api/") or method != "GET":
                answer = await ana.request(method, filled(path, NOWHERE), headers={"origin": FOREIGN}, json={})
                assert answer.status_code == 403, (method, path)


async def test_the_admin_token_cannot_be_guessed_by_trying(open_server: RunningServer) -> None:
    async with a_browser(open_server) as eve:
        tries = [await eve.get("/api/admin/overview", headers={"authorization": f"Bearer {n:016}"}) for n in range(40)]
        statuses = {answer.status_code for answer in tries}
        assert statuses == {401, 429}
        assert tries[-1].status_code == 429
    written = (open_server.folder / "security.log").read_text()
    assert f"{0:016}" not in written


@pytest.mark.parametrize("path", ["/../.env", "/..%2f.env", "/%2e%2e/pyproject.toml", "//etc/passwd", "/.git/config"])
async def test_no_path_leads_out_of_the_page(open_server: RunningServer, path: str) -> None:
    async with httpx2.AsyncClient(trust_env=False) as eve:
        assert (await eve.get(httpx2.URL(open_server.url).copy_with(raw_path=path.encode()))).status_code in (400, 404)


async def test_without_a_token_nothing_that_costs_is_answered(keyed_server: RunningServer) -> None:
    async with a_browser(keyed_server) as eve:
        asked = [(method, path) for method, path in await operations(eve) if grant_for(path)[1] is not None]
        assert len(asked) >= 38
        for method, path in asked:
            answer = await eve.request(method, filled(path, NOWHERE), json={})
            assert answer.status_code in (401, 404), (method, path)
            assert answer.status_code == 401 or path.startswith("/api/admin"), (method, path)


def token(**changes: Any) -> str:
    """A token that opens everything, but for what is changed."""
    claims = {"sub": "ada", "grants": {"memory": True, "chat": True, "tasks": True}, **changes}
    return ApiKeys({"shop": SECRET}).sign("shop", claims, 60)


def unsigned() -> str:
    """The same without a signature."""
    claims = jwt.decode(token(), options={"verify_signature": False})
    return jwt.encode(claims, "", algorithm="none", headers={"kid": "shop"})


def overlong() -> str:
    """One that would live for a day."""
    claims = jwt.decode(token(), options={"verify_signature": False})
    return jwt.encode(claims | {"exp": claims["iat"] + 86_400}, SECRET, headers={"kid": "shop"})


async def test_a_token_opens_what_it_grants_and_a_forged_one_nothing(keyed_server: RunningServer) -> None:
    signed_by_another = ApiKeys({"shop": "x" * 32}).sign("shop", {"sub": "ada", "grants": {"memory": True}}, 60)
    over = ApiKeys({"shop": SECRET}, lambda: 1_000_000_000.0).sign("shop", {"sub": "ada", "grants": {"memory": True}})
    async with a_browser(keyed_server) as program:
        for forged in (signed_by_another, unsigned(), overlong(), over, token() + "x", token(exp_=1, sub="")):
            refused = await program.get("/api/me", headers={"authorization": f"Bearer {forged}"})
            assert refused.status_code == 401
        headers = {"authorization": f"Bearer {token()}"}
        for _ in range(8):  # any process takes it
            assert (await program.get("/api/me", headers=headers)).status_code == 200
        assert (await program.post("/embedding", headers=headers, json={"input": "x"})).status_code == 403
        assert (await program.post("/api/sessions", headers=headers, json={})).status_code == 403
    await until(lambda: len(logged(keyed_server)) > 6)
    assert signed_by_another not in str(logged(keyed_server))


async def test_the_server_goes_by_no_other_name_on_any_route(open_server: RunningServer) -> None:
    async with a_browser(open_server) as browser:
        for method, path in await operations(browser):
            answer = await browser.request(method, filled(path, NOWHERE), headers={"host": "evil.example"}, json={})
            assert answer.status_code == 421, (method, path)


async def test_a_request_hidden_in_another_is_never_answered(open_server: RunningServer) -> None:
    host, port = open_server.url.removeprefix("http://").split(":")
    ambiguous = (
        "POST /api/me HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    hidden = "GET /api/config HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(4):  # whichever process takes the connection
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write((ambiguous + hidden).encode())
        answered = await asyncio.wait_for(reader.read(), 15)
        writer.close()
        assert b"ice_servers" not in answered
        assert answered.count(b"HTTP/1.1 ") <= 1


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01", "in 99999999 years"])
async def test_a_reminder_at_an_impossible_time_is_refused_at_once(open_server: RunningServer, at: str) -> None:
    async with a_browser(open_server) as eve:
        took = list[float]()
        for repeat in ("none", "every second", "every day"):
            began = time.monotonic()
            answer = await eve.post("/notification", json={"text": "x", "at": at, "repeat": repeat})
            assert answer.status_code == 422, answer.text
            took.append(time.monotonic() - began)
        assert min(took) < 1.0  # it took 1.2 s of the event loop, and all calls waited
