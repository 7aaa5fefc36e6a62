"""Whole spoken calls with GPT-Live's protocol: work is delegated without its words."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from backend.testing.services import open_meteo
from backend.testing.services.server import serving
from tests.support.first_sound import reply_sounds
from tests.support.offline_peer import OfflinePeer, offline_peer
from tests.support.provider_calls import ask, slow_weather, thinking_with
from tests.support.running_server import PlacedCall, RunningServer, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

WEATHER = "what is the weather in Seattle"
ELSEWHERE = "what is the weather in Paris"
NOTE = "make a note to call the plumber"
STORY: dict[str, Any] = {
    "text": "A long story " * 20,
    "tone": {"hz": 400, "to_hz": 2400, "ms": 8000},
    "pace": 1,
}
CHECK: dict[str, Any] = {"text": "Let me check.", "tone": {"ms": 300}, "calls": [{"name": "route_to_thinker"}]}


def settings_for(peer: OfflinePeer, meteo_url: str = "http://127.0.0.1:9") -> dict[str, str]:
    return thinking_with(peer, meteo_url) | {"RESPONDERS": "gpt_live", "GPT_LIVE__URL": peer.realtime_url}


async def appended(peer: OfflinePeer, kind: str) -> list[dict[str, Any]]:
    """The peer's input of a kind, in order."""
    log = (await peer.connections())[-1]
    return [e["event"] for e in log["received"] if e["type"] == f"session.{kind}.append"]


async def complained(peer: OfflinePeer) -> list[str]:
    logs = await peer.connections()
    return [e["event"]["error"]["message"] for log in logs for e in log["sent"] if e["type"] == "error"]


async def delegations(peer: OfflinePeer) -> list[str]:
    log = (await peer.connections())[-1]
    return [e["event"]["delegation"]["id"] for e in log["sent"] if e["type"] == "session.delegation.created"]


async def notes_of(server: RunningServer, call: PlacedCall) -> list[Any]:
    answer = await call.http.get("/api/me/export")
    answer.raise_for_status()
    found: list[Any] = answer.json().get("reminders", [])
    return found


async def test_a_delegation_asks_the_weather_thinker_and_its_answer_is_spoken() -> None:
    turns = [{"hear": WEATHER, "reply": CHECK, "after_results": [{"text": "It rains.", "tone": {"ms": 300}}]}]
    async with offline_peer({"turns": turns}, "--strict", "gpt_live") as peer, serving(open_meteo.answering) as meteo:
        with running_server(None, **settings_for(peer, meteo.url)) as server:
            async with placed_call(server) as call:
                await ask(call, WEATHER)
                await call.event("transcript", content="Let me check.")
                await call.event("transcript", content="It rains.")
                thinkers = call.events_of("thinker")
        assert {each["domain"] for each in thinkers if each.get("domain")} == {"weather"}
        assert thinkers[-1]["event"] == "complete" and thinkers[-1]["source"] == "live"
        assert any(request.path == "/v1/forecast" for request in meteo.requests)
        [commentary] = await appended(peer, "commentary")
        assert [commentary["delegation_id"]] == await delegations(peer)
        assert "Seattle" in commentary["content"]
        log = (await peer.connections())[-1]
        assert log["received"][0]["type"] == "session.start"
        assert await complained(peer) == []


async def test_barge_in_is_held_at_playout_and_the_rest_of_the_utterance_is_dropped() -> None:
    stays = STORY | {"late_ms": 900}  # the model goes on for a while, whatever the caller says
    answer = {"text": "All right.", "tone": {"ms": 300}, "first_audio_delay_ms": 500}
    turns = [
        {"hear": "tell me a story", "reply": stays},
        {"hear": "stop", "reply": answer},
    ]
    async with offline_peer({"turns": turns}, "--strict", "gpt_live") as peer:
        with running_server(None, **settings_for(peer)) as server:
            async with placed_call(server) as call:
                await ask(call, "tell me a story")
                await reply_sounds(call)
                await asyncio.sleep(1.5)  # an earlier interruption would have heard too little of it
                await call.say(silence(100) + speech("stop, that is enough"))
                interrupted = await call.event("transcript_interrupted")
                await call.event("transcript", content="All right.")
                await call.hears_nothing_for(1)
                conversation = call.events_of("session_started")[0]["conversation_id"]
                history = (await call.http.get(f"/api/conversations/{conversation}")).json()["messages"]
        heard = interrupted.data["heard"]
        assert heard and len(heard) < len(STORY["text"]) / 2 and STORY["text"].startswith(heard)
        assert heard in [each["content"] for each in history], "the heard part is what is remembered"
        sent = [each["content"] for each in await appended(peer, "thinking")]
        assert any(heard.split()[-1] in text for text in sent), "the model gets the heard part"
        assert await complained(peer) == []


async def test_a_repeated_delegation_has_its_side_effect_once() -> None:
    twice = CHECK | {"calls": [{"name": "route_to_thinker"}, {"name": "route_to_thinker"}]}
    turns = [{"hear": NOTE, "reply": twice, "after_results": [{"text": "Noted.", "tone": {"ms": 300}}]}]
    async with offline_peer({"turns": turns}, "--strict", "gpt_live") as peer:
        with running_server(None, **settings_for(peer)) as server:
            async with placed_call(server) as call:
                await ask(call, NOTE)
                await call.event("transcript", content="Noted.")
                await call.hears_nothing_for(1)
                notes = await notes_of(server, call)
        first, second = await delegations(peer)
        assert len(notes) == 1 and "plumber" in json.dumps(notes)
        assert [each["delegation_id"] for each in await appended(peer, "commentary")] == [first]
        assert second in [each["delegation_id"] for each in await appended(peer, "thinking")]
        assert await complained(peer) == []


async def test_a_late_answer_is_sent_silently_and_spoken_later() -> None:
    turns = [
        {"hear": ELSEWHERE, "reply": CHECK},
        {"hear": "how are you", "reply": {"text": "Fine.", "tone": {"ms": 300}}},
    ]
    async with offline_peer({"turns": turns}, "--strict", "gpt_live") as peer, slow_weather() as (meteo, gate):
        with running_server(None, **settings_for(peer, meteo.url)) as server:
            async with placed_call(server) as call:
                await ask(call, ELSEWHERE)
                await call.event("transcript", content="Let me check.")
                await until(lambda: bool(meteo.requests))
                await ask(call, "how are you")
                await call.event("transcript", content="Fine.")
                gate.set()
                await call.event("thinker", event="stale")
                await call.event("thinker", event="complete")
        [delegated] = await delegations(peer)
        assert await appended(peer, "commentary") == []
        thinking = await appended(peer, "thinking")
        [sent] = [each["content"] for each in thinking if each["delegation_id"] == delegated]
        assert "Paris" not in sent
        assert any("Paris" in each["content"] for each in thinking if each["delegation_id"] is None)
        assert await complained(peer) == []
