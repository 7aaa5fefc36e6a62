"""The serving process: reachable when it says so, and gone in order when it is asked to go."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from backend.app.server import serve
from backend.errors import SetupError
from backend.settings.settings import load_settings
from tests.support.offline_peer import offline_peer
from tests.support.processes import children, gone
from tests.support.running_server import placed_call, running_server

EXIT_WITHIN_S = 10.0


async def test_a_taken_port_is_said_before_anything_is_started(tmp_path: Path) -> None:
    settings = load_settings(_env_file=None, data_dir=tmp_path / "var")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"127.0.0.1:{port}") as refused:
            await serve(settings, "127.0.0.1", port)
    assert "--port" in refused.value.hint
    assert not (tmp_path / "var").exists()


def test_the_address_can_be_called_in_the_moment_it_is_printed_and_sigint_ends_it_with_status_0() -> None:
    with running_server(OFFLINE_URL="") as server:
        answer = httpx2.get(f"{server.url}/healthz", trust_env=False)
        assert answer.status_code == 200
        for word in ("Responder", "Memory", "Thinkers", "Detector", "weather"):
            assert word in server.printed
        offspring = children(server.pid)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(EXIT_WITHIN_S) == 0
        asyncio.run(gone(offspring, within_s=1))


async def test_a_second_signal_does_not_wait_for_the_goodbye() -> None:
    async with offline_peer() as peer:
        with running_server(peer) as server:
            async with placed_call(server, transport="ws") as call:
                server.process.send_signal(signal.SIGTERM)
                await call.hears_something()
                offspring = children(server.pid)
                server.process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(server.process.wait, 1) == -signal.SIGTERM
                await gone(offspring, within_s=5)


async def test_what_was_said_is_in_redis_after_a_restart() -> None:
    script = {"turns": [{"reply": {"text": "Hello.", "tone": {"hz": 440, "ms": 200}}}]}
    async with offline_peer(script) as peer:
        with running_server(peer) as server:
            async with placed_call(server, transport="ws") as call:
                path = f"/api/sessions/{call.ticket.session_id}/messages"
                headers = {"Authorization": f"Bearer {call.ticket.token}"}
                await call.http.post(path, json={"text": "remember this"}, headers=headers)
                await call.told("transcript", role="assistant")
                server.process.send_signal(signal.SIGTERM)
                await call.told("session_ended")
            assert await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S) == 0
            written = b"".join(path.read_bytes() for path in (server.folder / "var/redis").rglob("*.aof"))
    assert b"remember this" in written
