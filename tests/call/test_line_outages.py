"""During an outage of the provider no call ends, the wait is filled, and the connection comes back by itself."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.offline_peer import restartable_peer
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

QUESTION = "what is the weather in Seattle"
SILENCE_MOST_S = 4.0
BACK_WITHIN_S = 2.0


AWAY_S = 8.0
TURN = {"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": {"hz": 440, "ms": 300}}}


def longest_silence_s(call: PlacedCall, since: float, until_: float) -> float:
    """Return the longest time between two sounds that the caller heard in a period."""
    heard = [frame.at for frame in call.audible() if since < frame.at < until_]
    return max(later - earlier for earlier, later in pairwise([since, *heard, until_]))


@pytest.mark.alone
async def test_a_call_survives_an_outage_of_its_provider_without_a_long_silence(tmp_path: Path) -> None:
    now = asyncio.get_running_loop().time
    async with restartable_peer(tmp_path / "script.json", {"turns": [TURN]}) as line:
        with running_server(line.peer) as server:
            async with placed_call(server) as call:
                await call.say(silence(100) + speech("hello there"))
                await call.event("transcript", 30, content="It is sunny.")
                line.kill()
                await call.event("responder_changed", 20, state="lost")
                await call.say(silence(100) + speech("are you still there"))
                asked = now()
                await asyncio.sleep(AWAY_S)
                peer = await line.start()
                back = now()
                await call.event("responder_changed", state="connected")
                assert now() - back < BACK_WITHIN_S
                assert longest_silence_s(call, asked, now()) < SILENCE_MOST_S
                assert call.events_of("responder_changed")[-1]["responder"] == "OpenAI Realtime API"
                await call.event("transcript", content="Sorry, something went wrong. Could you say that again?")
                await call.hears_nothing_for(0.5)
                await call.say(silence(100) + speech("hello there"))
                await until(lambda: _answers(call, "It is sunny.") == 2)
                assert not call.events_of("session_ended")
        assert len(await peer.connections()) == 1


def _answers(call: PlacedCall, text: str) -> int:
    return [data["content"] for data in call.events_of("transcript")].count(text)
