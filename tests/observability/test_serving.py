"""Tracing in a serving process: its traces arrive, and a LangSmith that hangs delays neither a turn nor the end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.support.langsmith_api import KEY, LangSmith, langsmith, told
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer, placed_call, running_server
from tests.support.waiting import until

QUERY = "how high is the Eiffel tower"
SCRIPT: dict[str, Any] = {
    "turns": [
        {
            "reply": {"calls": [{"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": QUERY}}]},
            "after_results": [{"text": "Quite high.", "tone": {"hz": 440, "ms": 300}}],
        }
    ]
}


def traced(server: LangSmith) -> dict[str, str]:
    return {"LANGSMITH_TRACING_ENABLED": "true", "LANGSMITH_API_KEY": KEY, "LANGSMITH_ENDPOINT": server.url}


async def one_turn(running: RunningServer) -> int:
    """A typed question, a Thinker, an answer heard; milliseconds to the answer's first sound."""
    async with placed_call(running, transport="ws") as call:
        began = asyncio.get_running_loop().time()
        answer = await call.http.post(
            f"/api/sessions/{call.ticket.session_id}/messages",
            json={"text": "a private question"},
            headers={"authorization": f"Bearer {call.ticket.token}"},
        )
        assert answer.status_code == 202, answer.text
        await call.told("thinker", event="complete")
        await call.told("audio_playback_finished")
        return round((call.audible()[0].at - began) * 1000)


async def ended(running: RunningServer) -> float:
    """Seconds the server takes to end."""
    began = time.monotonic()
    running.process.terminate()
    await asyncio.to_thread(running.process.wait, 12)
    return time.monotonic() - began


async def test_a_real_call_is_traced_whole_and_without_its_words(peer: OfflinePeer) -> None:
    async with langsmith() as server:
        with running_server(peer, **traced(server)) as running:
            assert "LangSmith project responder-thinker, without what is said" in running.printed
            await peer.follow(SCRIPT)
            await one_turn(running)
            await until(lambda: server.has("session"))
            await ended(running)
            log = (running.folder / "stderr.log").read_text()
    session = server.span("session")
    [turn] = server.children(session)
    [thinker] = server.children(turn)
    [model] = server.children(thinker)
    assert [span.name for span in (turn, thinker)] == ["turn 1", "invoke_agent knowledge"]
    assert model.attributes["langsmith.span.kind"] == "llm" and model.attributes["gen_ai.usage.input_tokens"] > 0
    assert (told(turn)["outcome"], told(thinker)["source"], told(session)["reason"]) == (
        *("complete", "model"),
        "disconnected",
    )
    assert told(turn)["first_sound_ms"] > 0
    assert model.lasts_within(thinker) and thinker.lasts_within(turn) and turn.lasts_within(session)
    assert "private" not in server.text and "Eiffel" not in server.text
    assert KEY not in log + running.printed
