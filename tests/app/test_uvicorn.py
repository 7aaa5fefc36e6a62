"""The ASGI application under uvicorn's own command serves a call, and says goodbye before it ends."""

import asyncio
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from backend.main import listening_host
from tests.support.offline_peer import OfflinePeer, offline_peer
from tests.support.running_server import RunningServer, end, environment, placed_call

SCRIPT = {"turns": [{"reply": {"text": "Hello.", "tone": {"hz": 440, "ms": 200}}}]}
STARTS_WITHIN_S = 60.0


@contextmanager
def under_uvicorn(folder: Path, peer: OfflinePeer, **env: str) -> Iterator[RunningServer]:
    log = folder / "uvicorn.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "backend.main:app", "--port", "0"],
            cwd=folder,
            env=environment(folder, peer) | env,
            stdout=subprocess.PIPE,
            stderr=written,
        )
    try:
        until = time.monotonic() + STARTS_WITHIN_S
        while not (found := re.search(r"running on (http://[\d.:]+)", log.read_text())):
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        yield RunningServer(found[1], process, folder, log.read_text())
    finally:
        end(process)


@pytest.mark.document("001", "offer and page")
async def test_the_command_of_uvicorn_serves_the_page_and_a_call_and_ends_with_a_goodbye(tmp_path: Path) -> None:
    async with offline_peer(SCRIPT) as peer:
        with under_uvicorn(tmp_path, peer) as server:
            async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
                assert "<!doctype html>" in (await http.get("/")).text
                assert (await http.get("/healthz")).status_code == 200
            async with placed_call(server) as call:
                path, token = f"/api/sessions/{call.ticket.session_id}/messages", call.ticket.token
                await call.http.post(path, json={"text": "Hi."}, headers={"Authorization": f"Bearer {token}"})
                await call.event("transcript", role="assistant", content="Hello.")
                server.process.send_signal(signal.SIGTERM)
                await call.event("session_ended", reason="shutdown")
            await asyncio.to_thread(server.process.wait, 30)


def test_a_setting_without_effect_under_uvicorn_is_refused(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "uvicorn", "backend.main:app", "--port", "0"],
        cwd=tmp_path,
        env=environment(tmp_path) | {"WORKERS": "2"},
        capture_output=True,
        timeout=STARTS_WITHIN_S,
    )
    assert ended.returncode != 0
    assert b"leave it out under uvicorn" in ended.stderr


@pytest.mark.parametrize(
    ("command", "host"),
    [
        ("/venv/bin/uvicorn backend.main:app", "127.0.0.1"),
        ("/venv/lib/uvicorn/__main__.py backend.main:app --host 0.0.0.0 --port 80", "0.0.0.0"),
        ("uvicorn --host=10.0.0.7 backend.main:app", "10.0.0.7"),
        ("/venv/bin/hypercorn backend.main:app", "0.0.0.0"),
    ],
)
def test_the_address_of_uvicorn_decides_who_is_admitted(command: str, host: str) -> None:
    assert listening_host(command.split()) == host
