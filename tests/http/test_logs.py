"""No token reaches the logs of the server."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from tests.http.world import world


@pytest.mark.usefixtures("wordless_logs")
async def test_the_access_log_shows_a_request_without_its_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chatty = {"access_log": True, "log_level": "trace"}
    async with world(tmp_path, server=chatty) as here, here.browser() as browser:
        opened = (await browser.post("/api/sessions")).json()
        session_id, token = opened["session_id"], opened["token"]
        async with await here.socket(f"/ws/{session_id}?token={token}", token) as websocket:
            await websocket.send(b"x")
            await asyncio.wait_for(websocket.recv(), 20)
        await here.registry.wait(here.registry.find(session_id))
        await browser.get(f"/api/events/{session_id}", params={"token": token})
    servers = [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")]
    assert [line for line in servers if f"/ws/{session_id}?…" in line], servers
    assert [line for line in servers if f"/api/events/{session_id}?…" in line], servers
    assert not [line for line in servers if token in line]
