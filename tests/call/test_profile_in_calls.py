"""What a caller says of themselves, through the whole server: kept, passed to the Responder, shown, and forgotten."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call
from tests.support.speech import silence, speech
from tests.support.waiting import until

TONE: dict[str, Any] = {"hz": 440, "ms": 300}
NOTES = {"summary": "Ana talked about her dog.", "facts": ["has a dog called Rex"]}


def hears(*sentences: str, **more: Any) -> dict[str, Any]:
    reply = {"text": "I see.", "tone": TONE}
    return {"turns": [{"hear": sentence, "reply": reply} for sentence in sentences], **more}


async def briefings(peer: OfflinePeer) -> list[str]:
    """The instructions the newest connection was given, first to last."""
    log = (await peer.connections())[-1]
    return [e["event"]["session"]["instructions"] for e in log["received"] if e["type"] == "session.update"]


async def speak(call: PlacedCall) -> None:
    """Say something; what the Responder makes of it is in its script."""
    await call.say(silence(200) + speech("what is the weather in Seattle"))
    await call.event("transcript", role="assistant")


async def known(browser: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await browser.get("/api/me")
    assert answer.status_code == 200, answer.text
    me: dict[str, Any] = answer.json()
    return me


async def kept(browser: httpx2.AsyncClient) -> dict[str, Any]:
    """Everything of the caller, by where it is kept."""
    everything: dict[str, Any] = (await browser.get("/api/me/export")).json()
    return everything


async def test_a_name_is_told_in_mid_call_known_in_the_next_and_forgotten_on_demand(
    peer: OfflinePeer, running: RunningServer
) -> None:
    script = hears("My name is Ana. I live in Oslo, but I'm in Paris now.", chat=[{"text": json.dumps(NOTES)}])
    async with a_browser(running) as browser, a_browser(running) as stranger:
        await peer.follow(script)
        async with placed_call(running, browser=browser) as call:
            await speak(call)

            async def told() -> bool:
                return '"name": "Ana"' in (await briefings(peer))[-1]

            await until(told)
            assert "Ana" not in (await briefings(peer))[0]
        assert (await known(browser))["preferences"] == {"name": "Ana", "default_location": "Oslo"}

        async def summed_up() -> bool:
            me = await known(browser)
            return bool(me["summary"]) and me["signals"].get("session_count") == 1

        await until(summed_up)
        assert (await known(browser))["facts"] == NOTES["facts"]
        async with placed_call(running, browser=browser):
            [first] = await briefings(peer)
        assert '"name": "Ana"' in first and str(NOTES["summary"]) in first and "has a dog called Rex" in first
        async with placed_call(running, browser=stranger):
            assert "Ana" not in (await briefings(peer))[0]
        assert (await known(stranger))["preferences"] == {}

        exported = await browser.get("/api/me/export")
        assert "attachment" in exported.headers["content-disposition"]
        assert "My name is Ana" in exported.text and "My name is Ana" not in (await stranger.get("/api/me/export")).text

        assert (await browser.delete("/api/me")).json() == {"ok": True}
        assert (await known(browser))["preferences"] == {}
        assert not any((await kept(browser)).values())
        async with placed_call(running, browser=browser):
            assert "<caller>" not in (await briefings(peer))[0]


async def test_forgetting_ends_a_call_and_nothing_of_it_comes_back(peer: OfflinePeer, running: RunningServer) -> None:
    slow = [{"text": json.dumps(NOTES), "delay_ms": 400}]
    async with a_browser(running) as browser:
        await peer.follow(hears("My name is Ana", chat=slow))
        async with placed_call(running, browser=browser) as call:
            await speak(call)
        async with placed_call(running, browser=browser) as call:  # while the first one's summary is being written
            await speak(call)
            assert (await browser.delete("/api/me")).json() == {"ok": True}
            assert (await call.event("session_ended")).data["reason"] == "deleted"
            assert (await browser.get("/api/sessions")).json() == {"sessions": []}

        async def answered() -> bool:
            return (await browser.get("/metrics")).text.find('voice_queue_depth{queue="summaries"} 0.0') >= 0

        await until(answered)
        assert not any((await kept(browser)).values())
