"""Every refused request stands in the security log: who, which route and why; so do acts of operators and users."""

from __future__ import annotations

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
    """The security log of a test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.opened = ExitStack()
        self.opened.enter_context(open_security_log(path))

    def lines(self) -> list[dict[str, Any]]:
        """What was written; nothing is written after this."""
        self.opened.close()
        return [json.loads(line) for line in self._path.read_text().splitlines()]

    def only(self) -> dict[str, Any]:
        """The only line there is."""
        (line,) = self.lines()
        return line


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setattr(security_log, "_lines", security_log._Lines())
    written = Written(tmp_path / "security.log")
    with written.opened:
        yield written


async def test_a_wrong_admin_token_is_written_without_the_token(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path, admin_token=TOKEN) as here, here.browser() as browser:
        await browser.get("/api/admin/overview", headers={"authorization": "Bearer my-secret-guess"})
    line = written.only()
    assert line["event"] == "request_refused"
    assert line["route"] == "GET /api/admin"
    assert [line["status"], line["reason"], line["address"]] == [401, "The token is wrong.", "127.0.0.1"]
    assert "my-secret-guess" not in str(line)


async def test_somebody_elses_session_is_told_apart_in_the_log_alone(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        session_id = (await place_call(owner))["session_id"]
        theirs = await stranger.get(f"/api/sessions/{session_id}")
        nobodys = await stranger.get("/api/sessions/nobodys")
        assert [theirs.status_code, theirs.json()] == [404, nobodys.json()]
    line = written.only()
    assert [line["event"], line["status"], line["reason"]] == ["session_refused", 404, "not theirs"]
    assert line["route"] == "GET /api/sessions/{session_id}"
    assert session_id not in str(line)


async def test_a_rate_limit_is_written_with_who_met_it(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path, offers_per_minute=1) as here, here.browser() as browser:
        user = (await place_call(browser))["session_id"]
        assert (await browser.post("/api/rtc/offer", json={"sdp": "v=0\r\n"})).status_code == 429
        user = here.registry.find(user).owner
    line = written.only()
    assert [line["status"], line["reason"], line["credential"]] == [429, "Too many new calls.", "cookie"]
    assert line["user"] == hashed(user)
    assert user not in str(line)


async def test_a_foreign_origin_is_written_for_requests_and_sockets(
    here: World, browser: Browser, written: Written
) -> None:
    foreign = "https://evil.example"
    await browser.post("/api/sessions", headers={"origin": foreign})
    with pytest.raises(InvalidStatus):
        await here.socket("/ws/any", origin=foreign)
    lines = written.lines()
    assert [line["reason"] for line in lines] == ["Pages of this origin may not use this server."] * 2
    assert foreign not in str(lines)


async def test_a_socket_to_somebody_elses_session_is_written(tmp_path: Path, written: Written) -> None:
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


async def test_what_is_answered_or_merely_wrong_is_not_written(browser: Browser, written: Written) -> None:
    assert (await browser.get("/api/config")).status_code == 200
    assert (await browser.patch("/api/me", json={})).status_code == 422
    assert (await browser.get("/nowhere")).status_code == 404
    assert written.lines() == []


async def test_an_operator_who_ends_a_call_is_written(tmp_path: Path, written: Written) -> None:
    async with world(tmp_path, admin_token=TOKEN) as here, here.browser() as caller, here.browser() as operator:
        session_id = (await place_call(caller))["session_id"]
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert (await operator.delete(f"/api/admin/sessions/{session_id}", headers=headers)).status_code == 200
    line = written.only()
    assert [line["event"], line["reason"], line["session"]] == ["admin_act", "ended a call", session_id]


async def test_export_and_erasure_are_written(browser: Browser, written: Written) -> None:
    await browser.get("/api/me")
    await browser.get("/api/me/export")
    assert (await browser.delete("/api/me")).status_code == 200
    assert [line["event"] for line in written.lines()] == ["data_exported", "data_erased"]
