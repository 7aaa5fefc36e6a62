"""A reloaded page continues its conversation, against the whole server and a stand-in."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.support.browser import Tab, tab_in
from tests.support.real_server import real_server
from tests.support.standin import CONVERSATION, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "What about Seattle?", "at": 1_700_000_000.0},
    {"role": "assistant", "content": "", "at": 1_700_000_001.0, "tool_calls": [{"name": "consult_thinker"}]},
    {"role": "tool", "content": "12 degrees", "at": 1_700_000_002.0},
    {"role": "assistant", "content": "It rains in Seattle.", "at": 1_700_000_003.0},
]


async def connect_silently(tab: Tab) -> None:
    """Place a call by typing only."""
    await tab.press("connect")
    await tab.press("way-type")
    await tab.sees("floor", "Ready")


async def ask(tab: Tab, question: str, answer: str) -> None:
    await tab.page.get_by_test_id("composer-text").fill(question)
    await tab.press("composer-send")
    await (
        tab.page.locator("[data-testid=entry-assistant][data-state=final]")
        .filter(has_text=answer)
        .wait_for(timeout=30_000)
    )


async def test_a_reloaded_page_shows_and_continues_the_conversation(browser: Browser) -> None:
    async with real_server() as url, tab_in(browser, microphone="refused") as tab:
        await tab.open(url)
        await connect_silently(tab)
        await ask(tab, "What's the weather in Seattle?", "In Seattle it is")
        before = await tab.page.evaluate("sessionStorage.getItem('conversation')")

        await tab.page.reload()
        await tab.sees("connect", "Continue")
        await tab.sees("entry-user", "What's the weather in Seattle?")
        await tab.sees("entry-assistant", "In Seattle it is")
        # The screen reader does not read the old conversation again.
        await expect(tab.page.get_by_test_id("announcer")).to_have_text("")
        await connect_silently(tab)
        await tab.sees("entry-note", "The conversation continues")
        await ask(tab, "What is seventeen times twenty four?", "408")
        kept = await (await tab.page.request.get(f"{url}/api/conversations/{before}")).json()
        asked = [message["content"] for message in kept["messages"] if message["role"] == "user"]
        assert asked == ["What's the weather in Seattle?", "What is seventeen times twenty four?"]

        await tab.press("connect")
        await tab.press("new-conversation")
        await tab.sees("connect", "Start talking")
        await tab.page.reload()
        await tab.sees("connect", "Start talking")
        assert await tab.transcript() == []


async def test_a_reloaded_page_shows_only_words_and_the_next_call_names_the_conversation(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, microphone="refused") as tab:
        server.said = SAID
        await tab.page.add_init_script(f"sessionStorage.setItem('conversation', '{CONVERSATION}')")
        await tab.open(server.url)
        assert await tab.transcript() == [
            ("user", "final", "What about Seattle?"),
            ("assistant", "final", "It rains in Seattle."),
        ]
        await tab.press("connect")
        await tab.press("way-type")
        await tab.sees("state", "Connected")
        assert [offer.get("conversation_id") for offer in server.offers] == [CONVERSATION]
        server.publish("transcript", role="user", item_id="u1", content="And tomorrow?")
        await tab.sees("transcript", "And tomorrow?")
        assert len(await tab.transcript()) == 4


async def test_an_expired_conversation_is_forgotten(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, microphone="refused", complaints="expected") as tab:
        await tab.open(server.url)
        await tab.page.evaluate("sessionStorage.setItem('conversation', 'long-ago')")
        await tab.page.reload()
        await tab.sees("connect", "Start talking")  # the document itself has this text, so the answer may be pending
        await until(lambda: is_forgotten(tab))


async def is_forgotten(tab: Tab) -> bool:
    return await tab.page.evaluate("sessionStorage.getItem('conversation')") is None


async def test_another_tab_begins_its_own_conversation(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, microphone="refused") as tab:
        server.said = SAID
        await tab.open(server.url)
        await tab.page.evaluate(f"sessionStorage.setItem('conversation', '{CONVERSATION}')")
        other = Tab(await tab.page.context.new_page())
        await other.open(server.url)
        assert await other.transcript() == []
