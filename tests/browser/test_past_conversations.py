"""Past conversations can be found by their words, continued and deleted in the dialog, on the whole server."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser.test_returning import ask, connect_silently
from tests.support.browser import Tab, tab_in
from tests.support.looks import fits_and_is_accessible
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
WEATHER, SUM = "What's the weather in Seattle?", "What is seventeen times twenty four?"


async def converse(tab: Tab, question: str, answer: str) -> None:
    await connect_silently(tab)
    await ask(tab, question, answer)
    await tab.press("connect")
    await tab.press("new-conversation")


async def test_a_past_conversation_can_be_found_continued_and_deleted_in_every_look(browser: Browser) -> None:
    async with real_server() as url, tab_in(browser, microphone="refused") as tab:
        await tab.open(url)
        await tab.press("open-past")
        await tab.sees("past-said", "None yet.")
        await tab.page.keyboard.press("Escape")
        await converse(tab, WEATHER, "In Seattle it is")
        await converse(tab, SUM, "408")

        await tab.press("open-past")
        entries = tab.page.get_by_test_id("past-list").locator("li")
        await expect(entries).to_have_count(2)
        assert [await entries.nth(index).locator(".past-title").inner_text() for index in (0, 1)] == [SUM, WEATHER]
        await tab.page.get_by_test_id("past-search").fill("seattle")
        await expect(entries).to_have_count(1)
        await entries.locator(".past-open").click()
        await expect(tab.page.get_by_test_id("past")).to_be_hidden()
        await tab.sees("entry-user", WEATHER)
        await tab.sees("connect", "Continue")
        await connect_silently(tab)
        await tab.sees("entry-note", "The conversation continues")
        await ask(tab, "And tomorrow?", "Seattle")
        await tab.press("connect")

        await tab.press("open-past")
        await tab.page.get_by_test_id("past-search").fill("")
        await expect(entries).to_have_count(2)
        await entries.filter(has_text=SUM).get_by_role("button", name="Delete").click()
        await tab.sees("past-said", "Deleted.")
        await expect(entries).to_have_count(1)
        left = await (await tab.page.request.get(f"{url}/api/conversations")).json()
        assert [each["title"] for each in left["conversations"]] == [WEATHER]
        await fits_and_is_accessible(tab, "past conversations")
