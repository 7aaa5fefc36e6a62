"""A caller who waits for a provider that is connected but silent hears about it repeatedly."""

import asyncio
from typing import Any

import pytest

from backend.call.responder_link import GO_BACK_EVERY_S
from backend.responders.failover import REST_S
from tests.call.test_failover_calls import put_back
from tests.call.test_line_outages import SILENCE_MOST_S, longest_silence_s
from tests.support.offline_peer import offline_peer
from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence, speech

pytestmark = pytest.mark.realtime

APOLOGY = "Sorry, something went wrong. Could you say that again?"
MUTE: dict[str, dict[str, Any]] = {
    "nothing ever comes": {"hang": True},
    "it begins, without a sound": {"text": "It is sunny.", "first_audio_delay_ms": 60_000},
    "it stops in the middle": {"text": "It is sunny.", "tone": {"ms": 2_000}, "stall_after_ms": 600},
}


@pytest.mark.alone
@pytest.mark.parametrize("reply", MUTE.values(), ids=MUTE)
async def test_a_waiting_caller_never_hears_four_seconds_of_silence(reply: dict[str, Any]) -> None:
    now = asyncio.get_running_loop().time
    script = {"turns": [{"hear": "is it sunny", "reply": reply}], "fallback": reply}
    async with offline_peer(script) as peer:
        with running_server(peer) as server:
            async with placed_call(server) as call:
                await call.say(silence(100) + speech("is it sunny"))
                asked = now()
                await call.event("transcript", 40, content=APOLOGY)
                await asyncio.sleep(1)  # the apology is heard after it is reported
                assert longest_silence_s(call, asked, now()) < SILENCE_MOST_S
                assert "One moment, please." in [said["content"] for said in call.events_of("transcript")]
                assert call.events_of("reply_failed")[-1]["remedy"] == "apologised"


@pytest.mark.alone
async def test_a_call_moves_to_another_provider_and_stays_there() -> None:
    now = asyncio.get_running_loop().time
    first = {
        "turns": [
            {"hear": "hello there", "reply": {"text": "Good day.", "tone": {"ms": 400}}},
            {"hear": "is it sunny", "reply": {"hang": True}},
        ],
        "fallback": {"hang": True},
    }
    answers = ["It is sunny.", "And tomorrow too."]
    second = {"turns": [{"hear": "and tomorrow", "reply": {"text": text, "tone": {"ms": 400}}} for text in answers]}
    async with offline_peer(first) as mute, offline_peer(second) as other:
        with running_server(mute, RESPONDERS="openai,local", OFFLINE_URL=other.url) as server:
            async with placed_call(server) as call:
                await call.say(silence(100) + speech("hello there"))
                await call.event("transcript", 20, content="Good day.")
                await call.hears_nothing_for(0.5)
                await call.say(silence(100) + speech("is it sunny"))
                asked = now()
                await call.event("transcript", 40, content="It is sunny.")
                assert longest_silence_s(call, asked, now()) < SILENCE_MOST_S
                [changed] = [each for each in call.events_of("responder_changed") if each["state"] == "connected"]
                assert changed["responder"] == "local Responder"
                assert APOLOGY not in [said["content"] for said in call.events_of("transcript")]
                [connection] = [each for each in await other.connections() if each["received"]]
                restored = [("user", "hello there"), ("assistant", "Good day."), ("user", "is it sunny")]
                assert put_back(connection)[:3] == restored

                await asyncio.sleep(
                    3 * GO_BACK_EVERY_S + REST_S
                )  # the first provider can be connected during this time
                await call.say(silence(100) + speech("and tomorrow"))
                await call.event("transcript", 20, content="And tomorrow too.")
                connected = [each for each in call.events_of("responder_changed") if each["state"] == "connected"]
                assert connected == [changed] and not call.events_of("session_ended")
