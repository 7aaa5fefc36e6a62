"""How calls end: real processes, a real caller, and somebody who still hears it or a page that still shows it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from backend.media.frame import FRAME_MS
from tests.support.offline_peer import OfflinePeer
from tests.support.processes import children, gone
from tests.support.running_server import RunningServer, placed_call, running_server

TONE: dict[str, Any] = {"hz": 440, "ms": 400}
EXIT_WITHIN_S = 10.0


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer, IDLE_NUDGE_S="1", IDLE_DISCONNECT_S="3") as running:
        yield running


async def silent_call(server: RunningServer, transport: str) -> None:
    """Somebody calls, says nothing, and is let go."""
    async with placed_call(server, transport=transport) as call:
        ended = await call.told("session_ended", within_s=12)
        types = [event.type for event in call.events]
        goodbye_at = call.arrivals[types.index("session_idle_disconnect")]
        nudge_ms, goodbye_ms = (
            FRAME_MS * sum(early is (heard.at < goodbye_at) for heard in call.audible()) for early in (True, False)
        )
    assert ended.data == {"reason": "idle"}
    order = [type_ for type_ in types if type_.startswith("session_") or type_ == "transcript"]
    assert order == [
        "session_started",
        "session_idle_nudge",
        "transcript",
        "session_idle_disconnect",
        "transcript",
        "session_ended",
    ]
    assert [data["content"] for data in call.all_told("transcript")] == ["Still there?", "Goodbye!"]
    assert (call.all_told("session_idle_nudge"), call.all_told("session_idle_disconnect")) == (
        [{"idle_s": 1}],
        [{"idle_s": 3}],
    )
    # What a busy machine sends too late the caller conceals, which sounds longer; heard in part is what must not be.
    assert 360 <= nudge_ms <= 520 and 760 <= goodbye_ms <= 920, "heard in full, the goodbye before the hang-up"


async def test_silence_brings_a_nudge_then_a_goodbye_that_is_heard_then_the_end(
    peer: OfflinePeer, server: RunningServer
) -> None:
    nudge = {"text": "Still there?", "tone": TONE}
    goodbye = {"text": "Goodbye!", "tone": {"hz": 440, "ms": 800}}
    await peer.follow({"purposes": {"nudge": nudge, "goodbye": goodbye}})
    await asyncio.gather(silent_call(server, "webrtc"), silent_call(server, "ws"))


async def exit_status(server: RunningServer) -> int:
    return await asyncio.to_thread(server.process.wait, EXIT_WITHIN_S)


async def test_sigterm_says_goodbye_ends_the_call_and_leaves_no_process() -> None:
    with running_server(OFFLINE_URL="") as server:
        offspring = children(server.pid)
        assert len(offspring) >= 3, "redis-server, the local Responder and its recogniser"
        async with placed_call(server) as call, placed_call(server, transport="ws") as other:
            server.process.send_signal(signal.SIGTERM)
            await asyncio.gather(call.hears_something(), other.hears_something())
            for each in (call, other):
                ended = await each.told("session_ended", within_s=8)
                assert ended.data == {"reason": "shutdown"}
                assert each.all_told("transcript")[-1]["content"] == "I have to go now. Goodbye!"
                assert len(each.audible()) * FRAME_MS > 1000, "the goodbye was heard, not only begun"
            assert await exit_status(server) == 0
        await gone(offspring, within_s=1)
        assert "Traceback" not in (server.folder / "stderr.log").read_text()


async def test_a_server_killed_in_a_call_leaves_no_process() -> None:
    with running_server(OFFLINE_URL="") as server:
        offspring = children(server.pid)
        async with placed_call(server, transport="ws"):
            server.process.kill()
            await exit_status(server)
            await gone(offspring, within_s=5)
