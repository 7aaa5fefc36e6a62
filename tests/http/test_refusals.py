"""The security log has every refused request with user, route and reason, and acts of operators and users."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from backend.observability import security_log
from backend.observability.security_log import hashed, open_security_log
from tests.http.world import Browser, World, place_call, world

TOKEN = "an operator's token"


class Written:
    """The security log of one test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.opened = ExitStack()
        self.opened.enter_context(open_security_log(path))

    def lines(self) -> list[dict[str, Any]]:
        """Close the log, and return its lines."""
        self.opened.close()
        return [json.loads(line) for line in self._path.read_text().splitlines()]

    def only(self) -> dict[str, Any]:
        """Return the only line of the log."""
        (line,) = self.lines()
        return line


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setattr(security_log, "_lines", security_log._Lines())
    written = Written(tmp_path / "security.log")
    with written.opened:
        yield written


async def test_a_wrong_admin_token_is_logged_without_the_token(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path, admin_token=TOKEN) as here, here.browser() as browser:
        await browser.get("/api/admin/overview", headers={"authorization": "Bearer my-secret-guess"})
    line = written.only()
    assert line["event"] == "request_refused"
    assert line["route"] == "GET /api/admin"
    assert [line["status"], line["reason"], line["address"]] == [401, "The token is wrong.", "127.0.0.1"]
    assert "my-secret-guess" not in str(line)


async def test_only_the_log_distinguishes_a_foreign_session_from_an_unknown_one(
    tmp_path: Path, written: Written
) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        session_id = (await place_call(owner))["session_id"]
        theirs = await stranger.get(f"/api/sessions/{session_id}")
        nobodys = await stranger.get("/api/sessions/nobodys")
        assert [theirs.status_code, theirs.json()] == [404, nobodys.json()]
    line = written.only()
    assert [line["event"], line["status"], line["reason"]] == ["session_refused", 404, "not theirs"]
    assert line["route"] == "GET /api/sessions/{session_id}"
    assert session_id not in str(line)


async def test_a_request_over_a_rate_limit_is_logged_with_its_user(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path, offers_per_minute=1) as here, here.browser() as browser:
        user = (await place_call(browser))["session_id"]
        assert (await browser.post("/api/rtc/offer", json={"sdp": "v=0\r\n"})).status_code == 429
        user = here.registry.find(user).owner
    line = written.only()
    assert [line["status"], line["reason"], line["credential"]] == [429, "Too many new calls.", "cookie"]
    assert line["user"] == hashed(user)
    assert user not in str(line)


async def test_a_foreign_origin_is_logged_for_requests_and_sockets(
    here: World, browser: Browser, written: Written
) -> None:
    foreign = "https://evil.example"
    await browser.post("/api/sessions", headers={"origin": foreign})
    with pytest.raises(InvalidStatus):
        await here.socket("/ws/any", origin=foreign)
    lines = written.lines()
    assert [line["reason"] for line in lines] == ["Pages of this origin may not use this server."] * 2
    assert foreign not in str(lines)


async def test_a_socket_to_a_foreign_session_is_logged(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path) as here, here.browser() as owner:
        session_id = (await owner.post("/api/sessions", json={})).json()["session_id"]
        with pytest.raises(ConnectionClosed):
            await (await here.socket(f"/ws/{session_id}", token="forged")).recv()
    line = written.only()
    assert [line["event"], line["reason"], line["route"]] == [
        "session_refused",
        "not theirs",
        "WebSocket /ws/{session_id}",
    ]


async def test_answered_and_merely_wrong_requests_are_not_logged(browser: Browser, written: Written) -> None:
    assert (await browser.get("/api/config")).status_code == 200
    assert (await browser.patch("/api/me", json={})).status_code == 422
    assert (await browser.get("/nowhere")).status_code == 404
    assert written.lines() == []


async def test_the_end_of_a_call_by_an_operator_is_logged(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path, admin_token=TOKEN) as here, here.browser() as caller, here.browser() as operator:
        session_id = (await place_call(caller))["session_id"]
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert (await operator.delete(f"/api/admin/sessions/{session_id}", headers=headers)).status_code == 200
    line = written.only()
    assert [line["event"], line["reason"], line["session"]] == ["admin_act", "ended a call", session_id]


async def test_export_and_erasure_are_logged(browser: Browser, written: Written) -> None:
    await browser.get("/api/me")
    await browser.get("/api/me/export")
    assert (await browser.delete("/api/me")).status_code == 200
    assert [line["event"] for line in written.lines()] == ["data_exported", "data_erased"]
