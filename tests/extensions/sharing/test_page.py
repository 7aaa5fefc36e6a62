"""A conversation is shared from the page, read in a stranger's browser, and unreadable once the link is revoked."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser.test_returning import ask, connect_silently
from tests.support.browser import Tab, tab_in
from tests.support.looks import fits_and_is_accessible
from tests.support.real_server import real_server
from tests.support.standin import standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
QUESTION, ANSWER = "What's the weather in Seattle?", "In Seattle it is"


async def shared(tab: Tab, url: str) -> str:
    """Converse, and make a link to it; returns the link's address."""
    await tab.open(url)
    await connect_silently(tab)
    await ask(tab, QUESTION, ANSWER)
    await tab.press("connect")
    await tab.press("share")
    await tab.sees("share-days", "7 days")
    await tab.press("share-create")
    await tab.sees("share-said", "The link works now.")
    address = await tab.page.get_by_test_id("share-link").first.get_attribute("href")
    assert address and address.startswith(f"{url}/shared/")
    return address


async def test_a_stranger_reads_it_in_their_language_until_it_is_revoked(browser: Browser) -> None:
    async with (
        real_server() as server,
        tab_in(browser, microphone="refused", complaints="expected") as tab,
        tab_in(browser, complaints="expected", language="de-DE") as reader,
    ):
        address = await shared(tab, server)
        await expect(tab.page.get_by_test_id("share-copy")).to_be_focused()
        await fits_and_is_accessible(tab, "the dialog")
        await reader.page.goto(address)
        await reader.sees("shared-words", QUESTION)
        await reader.sees("shared-words", ANSWER)
        assert await reader.page.title() == "Ein geteiltes Gespräch"
        assert await reader.page.context.cookies() == []
        assert tab.complaints == reader.complaints == []
        await fits_and_is_accessible(reader, "the page")
        await tab.press("share-revoke")
        await tab.sees("share-said", "The link no longer works.")
        await expect(tab.page.get_by_test_id("share-link")).to_have_count(0)
        answer = await reader.page.reload()
        assert answer and answer.status == 410
        await reader.sees("shared", "Dieses Gespräch wird nicht mehr geteilt")
        assert QUESTION not in await reader.text("shared")
        await tab.page.route("**/api/conversations/*/links", lambda route: route.abort())
        await tab.press("share-create")
        await tab.sees("share-said", "That did not work.")


async def test_a_cut_address_or_an_unreachable_server_is_explained(browser: Browser) -> None:
    async with real_server() as server, tab_in(browser, complaints="expected") as reader:
        answer = await reader.page.goto(f"{server}/shared/cut")
        assert answer and answer.status == 404
        await reader.sees("shared", "There is no such page")
        await fits_and_is_accessible(reader, "no page")
        await reader.page.route("**/api/shared/*", lambda route: route.abort())
        await reader.page.reload()
        await reader.sees("shared", "cannot be shown just now")
        await reader.page.route("**/api/shared/*", lambda route: route.fulfill(status=429, json={"error": {}}))
        await reader.page.reload()
        await reader.sees("shared", "Too many requests just now")


async def test_without_sharing_on_the_server_there_is_no_button(browser: Browser) -> None:
    async with standing_in() as stand_in, tab_in(browser) as tab:
        stand_in.said = [{"role": "user", "content": "Hello.", "at": 1.0}]
        await tab.page.add_init_script("sessionStorage.setItem('conversation', 'stand-in-conversation')")
        await tab.open(stand_in.url)
        await tab.sees("copy", "Copy")
        await expect(tab.page.get_by_test_id("share")).to_be_hidden()
