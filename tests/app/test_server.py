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
from backend.media.frame import FRAME_MS
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


async def test_a_server_serves_when_it_says_so_and_a_signal_says_goodbye_and_leaves_no_process() -> None:
    with running_server(OFFLINE_URL="") as server:
        assert httpx2.get(f"{server.url}/healthz", trust_env=False).status_code == 200
        for word in ("Responder", "Memory", "Thinkers", "Detector", "weather", "Warm-up"):
            assert word in server.printed
        offspring = children(server.pid)
        assert len(offspring) >= 3, "redis-server, the local Responder and its recogniser"
        async with placed_call(server) as call, placed_call(server, transport="ws") as other:
            server.process.send_signal(signal.SIGINT)
            await asyncio.gather(call.hears_something(), other.hears_something())
            for each in (call, other):
                ended = await each.event("session_ended", within_s=8)
                assert ended.data == {"reason": "shutdown"}
                assert each.events_of("transcript")[-1]["content"] == "I have to go now. Goodbye!"
                assert len(each.audible()) * FRAME_MS > 1000, "the goodbye was heard, not only begun"
            assert await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S) == 0
        await gone(offspring, within_s=1)
        assert "Traceback" not in (server.folder / "stderr.log").read_text()


async def test_a_server_killed_in_a_call_leaves_no_process() -> None:
    with running_server(OFFLINE_URL="") as server:
        offspring = children(server.pid)
        async with placed_call(server, transport="ws"):
            server.process.kill()
            await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S)
            await gone(offspring, within_s=5)


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
                await call.event("transcript", role="assistant")
                server.process.send_signal(signal.SIGTERM)
                await call.event("session_ended")
            assert await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S) == 0
            written = b"".join(path.read_bytes() for path in (server.folder / "var/redis").rglob("*.aof"))
    assert b"remember this" in written
