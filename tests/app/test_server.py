"""The serving process is reachable when it says so, and ends in order after a signal."""

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


async def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    settings = load_settings(_env_file=None, data_dir=tmp_path / "var")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"127.0.0.1:{port}") as refused:
            await serve(settings, "127.0.0.1", port)
    assert "--port" in refused.value.hint
    assert not (tmp_path / "var").exists()


@pytest.mark.realtime
async def test_a_signal_ends_a_server_with_a_goodbye_and_leaves_no_process() -> None:
    with running_server(OFFLINE_URL="") as server:
        assert httpx2.get(f"{server.url}/healthz", trust_env=False).status_code == 200
        for word in ("Responder", "Memory", "Thinkers", "Detector", "weather", "Warm-up"):
            assert word in server.printed
        offspring = children(server.pid)
        assert len(offspring) >= 3, "redis-server, the local Responder or its recogniser is missing"
        async with placed_call(server) as call, placed_call(server, transport="ws") as other:
            server.process.send_signal(signal.SIGINT)
            await asyncio.gather(call.hears_something(), other.hears_something())
            for each in (call, other):
                ended = await each.event("session_ended", within_s=20)
                assert ended.data == {"reason": "shutdown"}
                assert each.events_of("transcript")[-1]["content"] == "I have to go now. Goodbye!"
                assert len(each.audible()) * FRAME_MS > 1000, "the goodbye was cut"
            assert await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S) == 0
        await gone(offspring, within_s=10)
        assert "Traceback" not in (server.folder / "stderr.log").read_text()


@pytest.mark.realtime
async def test_a_server_that_is_killed_during_a_call_leaves_no_process() -> None:
    with running_server(OFFLINE_URL="") as server:
        offspring = children(server.pid)
        async with placed_call(server, transport="ws"):
            server.process.kill()
            await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S)
            await gone(offspring, within_s=5)


@pytest.mark.realtime
async def test_a_second_signal_ends_the_server_without_the_goodbye() -> None:
    async with offline_peer() as peer:
        with running_server(peer) as server:
            async with placed_call(server, transport="ws") as call:
                server.process.send_signal(signal.SIGTERM)
                await call.hears_something()
                offspring = children(server.pid)
                server.process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S) == -signal.SIGTERM
                await gone(offspring, within_s=5)


@pytest.mark.realtime
async def test_a_typed_message_is_in_the_file_of_redis_after_the_server_ends() -> None:
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
