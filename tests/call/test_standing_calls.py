"""Without a model the server remembers, keeps, forgets and erases what users tell it, by voice and by text."""

from __future__ import annotations

import httpx2

from responder_thinker.signalling import Signalling
from tests.call.test_profile_in_calls import kept
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call, running_server, type_text
from tests.support.waiting import until


async def say(http: httpx2.AsyncClient, text: str) -> str:
    """What is answered to a typed message."""
    response = await http.post("/api/multiturn", json={"message": text, "conversation_id": "c1"}, timeout=20)
    assert response.status_code == 200, response.text
    return str(response.json()["text"])


async def answered(call: PlacedCall, text: str) -> str:
    """What the memory's Thinker found, and the Responder's words for it, once they are heard."""
    before = len(call.events_of("transcript"))
    await type_text(call, text)

    def spoken() -> list[str]:
        told = [each["content"] for each in call.events_of("transcript")[before:] if each["role"] == "assistant"]
        return [words for words in told if words.strip() not in ACKNOWLEDGED]

    await until(lambda: bool(spoken()), 20)
    return spoken()[-1].strip()


ACKNOWLEDGED = ("Let me check.", "One moment, please.", "I will look that up.", "Let me see.")


async def test_without_a_model_it_is_remembered_kept_forgotten_and_erased_by_text_and_by_voice() -> None:
    with running_server() as running:
        async with a_browser(running) as browser, a_browser(running) as stranger:
            for http in (browser, stranger):
                await Signalling(http).config()
            assert await say(browser, "Remember that my sister's name is Anna.") == (
                "I will remember: Your sister's name is Anna."
            )
            await _by_voice(running, browser)
            assert await say(browser, "What's my sister's name?") == "You told me: Your sister's name is Anna."
            assert await say(browser, "Forget that.") == "I have forgotten this: Your sister's name is Anna."
            assert await say(stranger, "What are my standing instructions?") == (
                "You have given me no standing instructions."
            )
            everything = await kept(browser)
            assert everything["memories"] == []
            assert [value["instructions"] for key, value in everything["memory"].items() if "context" in key] == [
                ["Call me captain."]
            ]
            assert await say(browser, "Remember that the bike is in the cellar.")
            assert (await kept(browser))["memories"][0]["text"] == "The bike is in the cellar."
            assert (await browser.delete("/api/me")).status_code == 200
            assert not any((await kept(browser)).values())


async def _by_voice(running: RunningServer, browser: httpx2.AsyncClient) -> None:
    async with placed_call(running, transport="ws", browser=browser) as call:
        known = await answered(call, "What do you know about my sister?")
        assert known == "You told me: Your sister's name is Anna."
        assert await answered(call, "From now on call me captain.") == "All right, from now on: Call me captain."
