"""Whole spoken calls with self-hosted servers of the Realtime protocol, each played by its strict peer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from backend.extensions.self_hosted.scripted import PEERS, REFUSALS
from backend.testing.services import open_meteo
from backend.testing.services.server import serving
from tests.support.offline_peer import OfflinePeer, offline_peer
from tests.support.provider_calls import QUESTION, ask, interrupted_call, thinking_with
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.tones import pitch
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

TONE_WITHIN_HZ = 60
ROUTE = {"name": "route_to_thinker", "arguments": {"domain": "weather", "query": QUESTION}}
CHECK: dict[str, Any] = {"text": "Let me check.", "tone": {"hz": 440, "ms": 300}, "calls": [ROUTE]}
RAINS: dict[str, Any] = {"text": "It rains in Seattle.", "tone": {"hz": 880, "ms": 400}}


def hosted(server: str, peer: OfflinePeer) -> dict[str, str]:
    """The settings of a server of that kind at the peer's address."""
    return {"RESPONDERS": "self_hosted", "SELF_HOSTED__SERVER": server, "SELF_HOSTED__BASE_URL": peer.base_url}


def refusals(log: dict[str, Any]) -> list[dict[str, Any]]:
    """The refusals on a connection for features that the server lacks."""
    errors = [entry["event"]["error"] for entry in log["sent"] if entry["type"] == "error"]
    return [error for error in errors if REFUSALS & {error["code"], error["type"]}]


@asynccontextmanager
async def called(server: str, script: dict[str, Any], meteo_url: str = "http://127.0.0.1:9") -> AsyncIterator[Any]:
    """A call over WebRTC with a server of that kind, and its peer, which must have refused nothing."""
    async with offline_peer(script, "--strict", server) as peer:
        with running_server(None, **thinking_with(peer, meteo_url) | hosted(server, peer)) as running:
            async with placed_call(running) as call:
                yield call, peer
        assert [each for log in await peer.connections() for each in refusals(log)] == []


async def received(peer: OfflinePeer) -> list[dict[str, Any]]:
    """The client events of the newest connection."""
    return [entry["event"] for entry in (await peer.connections())[-1]["received"]]


def heard(call: PlacedCall, hz: int) -> int:
    """Return how often a tone was heard, with more than a second between."""
    frames = call.caller.received.frames
    at = [each.at for each in frames if each.audible and abs(pitch(each.frame) - hz) < TONE_WITHIN_HZ]
    return sum(later - earlier > 1.0 for earlier, later in pairwise([float("-inf"), *at]))


@pytest.mark.parametrize("server", PEERS)
async def test_a_spoken_call_is_answered_interrupted_and_answered_again(server: str) -> None:
    made = await interrupted_call(server, lambda peer: hosted(server, peer))
    assert refusals(made.log) == []
    transcripts = made.call.events_of("transcript")
    said = [data["content"] for data in transcripts if data["role"] == "user" and data["content"]]
    assert said == ([] if server == "vllm_omni" else [QUESTION, "stop"])
    if server == "vllm_omni":
        assert [True for item in made.log["items"] if item.get("heard_ms")] == [True], "it is cut there, too"
    else:
        sent = json.dumps([event["item"] for event in made.received if "item" in event])
        assert made.heard.split()[-1] in sent, "the heard part is sent there"


@pytest.mark.parametrize("server", PEERS)
async def test_a_thinker_is_asked_and_its_answer_is_spoken(server: str) -> None:
    turns = [{"hear": QUESTION, "reply": CHECK, "after_results": [RAINS]}]
    async with serving(open_meteo.answering) as meteo:
        async with called(server, {"turns": turns}, meteo.url) as (call, peer):
            await ask(call, QUESTION)
            await call.event("transcript", 12, role="assistant", content=RAINS["text"])
            await until(lambda: (heard(call, 440), heard(call, 880)) == (1, 1))
            thinkers = call.events_of("thinker")
            assert {each["domain"] for each in thinkers if each.get("domain")} == {"weather"}
            assert thinkers[-1]["event"] == "complete" and thinkers[-1]["source"] == "live"
            [result] = results_of(await received(peer))
            assert "Seattle" in result
        assert any(request.path == "/v1/forecast" for request in meteo.requests)


def results_of(events: list[dict[str, Any]]) -> list[str]:
    """The results of tool calls."""
    items = [event["item"] for event in events if "item" in event]
    return [item["output"] for item in items if item["type"] == "function_call_output"]
