"""A whole spoken call with Gemini's side of the wire: each turn is an activity, and interrupts what is being said."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.extensions.gemini.gemini_peer import ScriptedReply, gemini_peer
from tests.support.provider_calls import QUESTION, ask, interrupted_call
from tests.support.running_server import placed_call, running_server
from tests.support.waiting import until


async def test_a_spoken_call_is_answered_interrupted_and_answered_again() -> None:
    made = await interrupted_call("gemini", lambda peer: {"GEMINI__API_KEY": "k", "GEMINI__URL": peer.realtime_url})
    assert not str(made.log["closed"]).startswith("closed 1007")
    told = [part["text"] for each in made.received for turn in turns(each) for part in turn["parts"]]
    assert any(made.heard.split()[-1] in text for text in told), "what was heard is told with the next request"
    signals = [name for each in made.received for name in each.get("realtimeInput", {}) if name != "audio"]
    assert len(signals) >= 4 and signals == ["activityStart", "activityEnd"] * (len(signals) // 2)


async def test_the_end_of_a_connection_is_crossed_unheard() -> None:
    leaves = ScriptedReply(hear=QUESTION, text="It is sunny.", sound_ms=600, go_away="3s")
    stays = ScriptedReply(hear=QUESTION, text="And it stays warm.", sound_ms=600)
    async with gemini_peer(leaves, stays) as peer:
        with running_server(
            RESPONDERS="gemini", GEMINI__API_KEY="k", GEMINI__URL=peer.url, OPENAI_API_KEY="k"
        ) as server:
            async with placed_call(server) as call:
                before = peer.connections
                await ask(call, QUESTION)
                await call.told("transcript", content="It is sunny.")
                await call.told("audio_playback_finished")
                heard = len(call.audible())
                assert heard, "the answer sounds"
                await until(lambda: peer.connections > before)
                await asyncio.sleep(1)
                assert len(call.audible()) - heard < 25, "nothing is said of it"
                await ask(call, QUESTION)
                await call.told("transcript", content="And it stays warm.")
                for unheard in ("responder_changed", "error", "session_ended"):
                    assert not call.all_told(unheard)
    assert peer.refused == []
    setups = [message["setup"]["sessionResumption"] for _, message in peer.received if "setup" in message]
    handles = [asked["handle"] for asked in setups if asked]
    assert len(handles) == 1 and handles[0] in peer.sessions, "it is the same session"


def turns(message: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = message.get("clientContent", {}).get("turns", [])
    return found
