"""A whole spoken call with Qwen-Omni-Realtime's side of the wire: turns are found here, and nothing is taken back."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.offline_peer import offline_peer
from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

QUESTION = "what is the weather in Seattle"
STORY: dict[str, Any] = {"text": "A long story " * 20, "chirp": {"from_hz": 400, "to_hz": 2400, "ms": 8000}}
SHORT: dict[str, Any] = {"text": "All right.", "tone": {"hz": 440, "ms": 200}}


async def test_a_spoken_call_is_answered_interrupted_and_answered_again() -> None:
    script = {"turns": [{"hear": QUESTION, "reply": STORY}, {"hear": "stop", "reply": SHORT}]}
    async with offline_peer(script, "--strict", "qwen") as peer:
        with running_server(
            RESPONDERS="qwen", QWEN__API_KEY="k", QWEN__BASE_URL=peer.base_url, OPENAI_API_KEY="k"
        ) as server:
            async with placed_call(server) as call:
                await call.say(silence(100) + speech(QUESTION))
                await call.hears_something()
                await asyncio.sleep(1.5)  # who speaks sooner has heard too little to have interrupted it
                await call.say(silence(100) + speech("stop, that is enough"))
                await until(lambda: any(data["heard"] for data in call.all_told("transcript_interrupted")))
                await call.told("transcript", content="All right.")
                await call.told("audio_playback_finished")
        log = (await peer.connections())[-1]
    heard = next(data["heard"] for data in call.all_told("transcript_interrupted") if data["heard"])
    assert STORY["text"].startswith(heard)
    updates = [event["event"] for event in log["received"] if event["type"] == "session.update"]
    assert heard.split()[-1] in updates[-1]["session"]["instructions"], "what was heard is told there"
    types = [event["type"] for event in log["received"]]
    asked, committed = types.count("response.create"), types.count("input_audio_buffer.commit")
    assert 2 <= asked <= committed, "an answer may be prepared in a pause, and asked for again if the caller goes on"
    errors = [event["event"]["error"]["code"] for event in log["sent"] if event["type"] == "error"]
    assert set(errors) <= {"response_cancel_not_active"}
