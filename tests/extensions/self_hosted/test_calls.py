"""Whole spoken calls with servers of the Realtime protocol that one runs oneself, each played by its strict peer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from backend.extensions.self_hosted.codecs import WORKING
from backend.extensions.self_hosted.scripted import PEERS, REFUSALS
from backend.testing.services import open_meteo
from backend.testing.services.server import serving
from tests.support.offline_peer import OfflinePeer, offline_peer
from tests.support.provider_calls import ask, slow_weather, thinking_with
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.tones import pitch
from tests.support.waiting import until

WEATHER = "what is the weather in Seattle"
TONE_WITHIN_HZ = 60
STORY: dict[str, Any] = {"text": "A long story " * 20, "chirp": {"from_hz": 400, "to_hz": 2400, "ms": 8000}}
SHORT: dict[str, Any] = {"text": "All right.", "tone": {"hz": 300, "ms": 400}}
ROUTE = {"name": "route_to_thinker", "arguments": {"domain": "weather", "query": WEATHER}}
CHECK: dict[str, Any] = {"text": "Let me check.", "tone": {"hz": 440, "ms": 300}, "calls": [ROUTE]}
RAINS: dict[str, Any] = {"text": "It rains in Seattle.", "tone": {"hz": 880, "ms": 400}}
STILL: dict[str, Any] = {"text": "Still looking.", "tone": {"hz": 660, "ms": 300}}


@asynccontextmanager
async def called(server: str, script: dict[str, Any], meteo_url: str = "http://127.0.0.1:9") -> AsyncIterator[Any]:
    """A call over WebRTC with a server of that kind, and its peer; nothing that was sent may have been refused."""
    async with offline_peer(script, "--strict", server) as peer:
        hosted = {"RESPONDERS": "self_hosted", "SELF_HOSTED__SERVER": server, "SELF_HOSTED__BASE_URL": peer.base_url}
        with running_server(None, **thinking_with(peer, meteo_url) | hosted) as running:
            async with placed_call(running) as call:
                yield call, peer
        logs = await peer.connections()
        errors = [entry["event"]["error"] for log in logs for entry in log["sent"] if entry["type"] == "error"]
        assert [error for error in errors if REFUSALS & {error["code"], error["type"]}] == []


async def received(peer: OfflinePeer) -> list[dict[str, Any]]:
    """What the newest connection brought."""
    return [entry["event"] for entry in (await peer.connections())[-1]["received"]]


def heard(call: PlacedCall, hz: int) -> int:
    """Return how often a tone was heard, with more than a second between."""
    frames = call.caller.received.frames
    at = [each.at for each in frames if each.audible and abs(pitch(each.frame) - hz) < TONE_WITHIN_HZ]
    return sum(later - earlier > 1.0 for earlier, later in pairwise([float("-inf"), *at]))


@pytest.mark.parametrize("server", PEERS)
async def test_a_spoken_call_is_answered_interrupted_and_answered_again(server: str) -> None:
    script = {"turns": [{"hear": WEATHER, "reply": STORY}, {"hear": "stop, that is enough", "reply": SHORT}]}
    async with called(server, script) as (call, peer):
        await ask(call, WEATHER)
        await call.hears_something()
        await asyncio.sleep(1.5)  # who speaks sooner has heard too little to have interrupted it
        await ask(call, "stop, that is enough")
        await until(lambda: any(data["heard"] for data in call.all_told("transcript_interrupted")))
        await call.told("transcript", 12, role="assistant", content=SHORT["text"])
        await call.told("audio_playback_finished")
        await until(lambda: heard(call, 300) == 1)
        [cut] = [data["heard"] for data in call.all_told("transcript_interrupted") if data["heard"]]
        assert STORY["text"].startswith(cut) and len(cut) < len(STORY["text"]) / 2
        said = [data["content"] for data in call.all_told("transcript") if data["role"] == "user" and data["content"]]
        transcribes = server != "vllm_omni"
        assert said == ([WEATHER, "stop, that is enough"] if transcribes else [])
        if server == "vllm_omni":
            items = (await peer.connections())[-1]["items"]
            assert [item["heard_ms"] > 0 for item in items if item.get("heard_ms")] == [True], "it is cut there, too"
        else:
            told = json.dumps([event["item"] for event in await received(peer) if "item" in event])
            assert cut.split()[-1] in told, "what was heard is told there"


@pytest.mark.parametrize("server", PEERS)
async def test_a_thinker_is_asked_and_its_answer_is_spoken(server: str) -> None:
    turns = [{"hear": WEATHER, "reply": CHECK, "after_results": [RAINS]}]
    async with serving(open_meteo.answering) as meteo:
        async with called(server, {"turns": turns}, meteo.url) as (call, peer):
            await ask(call, WEATHER)
            await call.told("transcript", 12, role="assistant", content=RAINS["text"])
            await until(lambda: (heard(call, 440), heard(call, 880)) == (1, 1))
            thinkers = call.all_told("thinker")
            assert {each["domain"] for each in thinkers if each.get("domain")} == {"weather"}
            assert thinkers[-1]["event"] == "complete" and thinkers[-1]["source"] == "live"
            [result] = results_of(await received(peer))
            assert "Seattle" in result
        assert any(request.path == "/v1/forecast" for request in meteo.requests)


async def test_a_caller_who_waits_for_a_slow_thinker_hears_a_word_and_then_the_answer() -> None:
    turns = [{"hear": WEATHER, "reply": CHECK, "after_results": [RAINS]}]
    script = {
        "turns": turns,
        "purposes": {"filler": STILL, "result": RAINS},
        "when_told": {"A specialist is still at work": STILL},
    }
    async with slow_weather() as (meteo, gate), called("speech_to_speech", script, meteo.url) as (call, peer):
        await ask(call, WEATHER)
        await call.told("transcript", 20, role="assistant", content=STILL["text"])
        await until(lambda: bool(meteo.requests))
        gate.set()
        await call.told("transcript", 20, role="assistant", content=RAINS["text"])
        await until(lambda: heard(call, 880) == 1)
        events = await received(peer)
        results = results_of(events)
        assert results == [WORKING], "a call is answered once"
        notes = [event["item"] for event in events if event.get("item", {}).get("role") == "system"]
        assert any("Seattle" in note["content"][0]["text"] for note in notes), "the result follows as a message"


def results_of(events: list[dict[str, Any]]) -> list[str]:
    """The results of tool calls."""
    items = [event["item"] for event in events if "item" in event]
    return [item["output"] for item in items if item["type"] == "function_call_output"]
