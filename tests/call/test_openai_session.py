"""What the settings ask of OpenAI's session, through the whole server to a strict peer of the Realtime API."""

from __future__ import annotations

from typing import Any

from tests.support.offline_peer import offline_peer
from tests.support.running_server import placed_call, running_server

SETTINGS = {
    "REALTIME_MODEL": "gpt-realtime-2.1",
    "REALTIME_EFFORT": "low",
    "REALTIME_PROMPT": "pmpt_1",
    "REALTIME_PROMPT_VERSION": "7",
    "REALTIME_RETENTION_RATIO": "0.7",
    "REALTIME_CONTEXT_TOKENS": "12000",
}


async def test_effort_stored_prompt_and_retention_reach_the_session_beside_the_instructions() -> None:
    async with offline_peer({"turns": [{"reply": "Hello."}]}, "--strict", "openai") as peer:
        with running_server(peer, **SETTINGS) as server:
            async with placed_call(server, transport="ws") as call:
                path = f"/api/sessions/{call.ticket.session_id}/messages"
                assert (await call.http.post(path, json={"text": "Hello."})).status_code == 202
                await call.told("transcript", 15, role="assistant", content="Hello.")
                assert call.all_told("session_started")[0]["model"] == "gpt-realtime-2.1"
        [log] = [each for each in await peer.connections() if each["received"]]
    session: dict[str, Any] = log["received"][0]["event"]["session"]
    assert session["reasoning"] == {"effort": "low"} and session["parallel_tool_calls"] is True
    assert session["prompt"] == {"id": "pmpt_1", "version": "7"} and session["instructions"]
    limits = {"post_instructions": 12000}
    assert session["truncation"] == {"type": "retention_ratio", "retention_ratio": 0.7, "token_limits": limits}
    assert [entry for entry in log["sent"] if entry["type"] == "error"] == []
