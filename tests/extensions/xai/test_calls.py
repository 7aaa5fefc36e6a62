"""A whole spoken call with xAI's side of the wire: turns are found and answered there, interruptions, too."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.offline_peer import offline_peer
from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence, speech

QUESTION = "what is the weather in Seattle"
STORY: dict[str, Any] = {"text": "A long story " * 20, "chirp": {"from_hz": 400, "to_hz": 2400, "ms": 8000}}
SHORT: dict[str, Any] = {"text": "All right.", "tone": {"hz": 440, "ms": 200}}


async def test_a_spoken_call_is_answered_interrupted_and_answered_again() -> None:
    script = {"turns": [{"hear": QUESTION, "reply": STORY}, {"hear": "stop", "reply": SHORT}]}
    async with offline_peer(script, "--strict", "xai") as peer:
        with running_server(
            RESPONDERS="xai", XAI__API_KEY="k", XAI__BASE_URL=peer.base_url, OPENAI_API_KEY="k"
        ) as server:
            async with placed_call(server) as call:
                assert call.all_told("session_started")[0]["hearing"] == "provider"
                await call.say(silence(100) + speech(QUESTION))
                await call.hears_something()
                await asyncio.sleep(0.5)
                await call.say(silence(100) + speech("stop, that is enough"))
                interrupted = await call.told("transcript_interrupted")
                await call.told("transcript", content="All right.")
                await call.told("audio_playback_finished")
        log = (await peer.connections())[-1]
    assert STORY["text"].startswith(interrupted.data["heard"])
    types = [event["type"] for event in log["received"]]
    assert "input_audio_buffer.commit" not in types and "response.create" not in types, "both come by themselves"
    errors = [event["event"]["error"]["code"] for event in log["sent"] if event["type"] == "error"]
    assert set(errors) <= {"response_cancel_not_active"}, "the provider has cancelled by itself before"
