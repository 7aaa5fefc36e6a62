"""A server without a model remembers, lists, forgets and erases by voice and by text."""

import httpx2
import pytest

from responder_thinker.signalling import Signalling
from tests.call.test_profile_in_calls import kept
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call, running_server, type_text
from tests.support.waiting import until

pytestmark = pytest.mark.realtime


async def say(http: httpx2.AsyncClient, text: str) -> str:
    """Type a message; return the answer."""
    response = await http.post("/api/multiturn", json={"message": text, "conversation_id": "c1"}, timeout=20)
    assert response.status_code == 200, response.text
    return str(response.json()["text"])


async def answered(call: PlacedCall, text: str) -> str:
    """Type into a call; return the spoken answer."""
    before = len(call.events_of("transcript"))
    await type_text(call, text)

    def spoken() -> list[str]:
        said = [each["content"] for each in call.events_of("transcript")[before:] if each["role"] == "assistant"]
        return [words for words in said if words.strip() not in ACKNOWLEDGED]

    await until(lambda: bool(spoken()), 20)
    return spoken()[-1].strip()


ACKNOWLEDGED = ("Let me check.", "One moment, please.", "I will look that up.", "Let me see.")


async def test_a_server_without_a_model_remembers_forgets_and_erases_by_text_and_by_voice() -> None:
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
