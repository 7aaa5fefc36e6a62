"""What a caller says about themselves is stored, shown, passed to the Responder, and erased on request."""

import json
from typing import Any

import httpx2
import pytest

from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

TONE: dict[str, Any] = {"hz": 440, "ms": 300}
NOTES = {"summary": "Ana talked about her dog.", "facts": ["has a dog called Rex"]}


def hears(*sentences: str, **more: Any) -> dict[str, Any]:
    reply = {"text": "I see.", "tone": TONE}
    return {"turns": [{"hear": sentence, "reply": reply} for sentence in sentences], **more}


async def briefings(peer: OfflinePeer) -> list[str]:
    """Return the instructions that the newest connection got, in order."""
    log = (await peer.connections())[-1]
    return [e["event"]["session"]["instructions"] for e in log["received"] if e["type"] == "session.update"]


async def speak(call: PlacedCall) -> None:
    """Say something; the script of the Responder decides what it hears."""
    await call.say(silence(200) + speech("what is the weather in Seattle"))
    await call.event("transcript", role="assistant")


async def known(browser: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await browser.get("/api/me")
    assert answer.status_code == 200, answer.text
    me: dict[str, Any] = answer.json()
    return me


async def kept(browser: httpx2.AsyncClient) -> dict[str, Any]:
    """Return all data of the caller by its store."""
    everything: dict[str, Any] = (await browser.get("/api/me/export")).json()
    return everything


@pytest.mark.document("001", "user context")
async def test_a_name_reaches_the_running_call_and_the_next_until_it_is_erased(
    peer: OfflinePeer, running: RunningServer
) -> None:
    script = hears("My name is Ana. I live in Oslo, but I'm in Paris now.", chat=[{"text": json.dumps(NOTES)}])
    async with a_browser(running) as browser, a_browser(running) as stranger:
        await peer.follow(script)
        async with placed_call(running, browser=browser) as call:
            await speak(call)

            async def knows_the_name() -> bool:
                return '"name": "Ana"' in (await briefings(peer))[-1]

            await until(knows_the_name)
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


async def test_an_erasure_ends_the_call_and_a_late_summary_does_not_return(
    peer: OfflinePeer, running: RunningServer
) -> None:
    slow = [{"text": json.dumps(NOTES), "delay_ms": 400}]
    async with a_browser(running) as browser:
        await peer.follow(hears("My name is Ana", chat=slow))
        async with placed_call(running, browser=browser) as call:
            await speak(call)
        async with placed_call(running, browser=browser) as call:  # the summary of the first call is written meanwhile
            await speak(call)
            assert (await browser.delete("/api/me")).json() == {"ok": True}
            assert (await call.event("session_ended")).data["reason"] == "deleted"
            assert (await browser.get("/api/sessions")).json() == {"sessions": []}

        async def answered() -> bool:
            return (await browser.get("/metrics")).text.find('voice_queue_depth{queue="summaries"} 0.0') >= 0

        await until(answered)
        assert not any((await kept(browser)).values())
