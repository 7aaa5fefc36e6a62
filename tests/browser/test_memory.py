"""The memory dialog shows, changes, exports and erases the profile through the real routes."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from backend.access.credentials import Signatures
from backend.users.profile_updates import (
    AddFact,
    AddInstruction,
    CountQuestion,
    CountSession,
    SetPreference,
    WatchTicker,
    WriteSummary,
    update_profile,
)
from tests.http.world import World
from tests.support.browser import Tab, tab_in
from tests.support.page import page_world

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
KEY = b"k" * 32
USER = "ada"


async def known_user(here: World, tab: Tab) -> None:
    """Make the visitor of the page Ada, who has a profile."""
    await update_profile(
        here.memory,
        USER,
        SetPreference("name", "Ada"),
        SetPreference("temperature_unit", "celsius"),
        WatchTicker("AAPL"),
        WatchTicker("MSFT"),
        AddFact("has a dog"),
        AddFact("plays the cello"),
        AddInstruction("Call me captain."),
        WriteSummary("Asked about the weather."),
        CountQuestion("weather", 1.0),
        CountSession(2.0),
    )
    cookie = Signatures(KEY, token_age_s=60).cookie(USER)
    await tab.page.context.add_cookies([{"name": "caller", "value": cookie, "url": here.url}])


async def open_memory(here: World, tab: Tab) -> None:
    """Open the page and its memory dialog."""
    await tab.page.goto(here.url)
    await tab.press("open-memory")
    await tab.sees("memory-counts", "so far")


async def known(here: World) -> dict[str, Any]:
    return dict(await here.memory.user_context(USER))


def field(tab: Tab, name: str) -> Any:
    return tab.page.get_by_test_id(f"memory-{name}")


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: Browser, here: World) -> AsyncIterator[Tab]:
    """Open the memory dialog in a tab of Ada's."""
    async with tab_in(browser) as opened:
        await known_user(here, opened)
        await open_memory(here, opened)
        yield opened


async def test_the_memory_dialog_shows_the_profile(tab: Tab) -> None:
    await expect(field(tab, "name")).to_have_value("Ada")
    await expect(field(tab, "temperature_unit")).to_have_value("celsius")
    await expect(field(tab, "summary")).to_have_value("Asked about the weather.")
    await expect(field(tab, "facts").locator("span")).to_have_text(["has a dog", "plays the cello"])
    await expect(field(tab, "tickers").locator("span")).to_have_text(["AAPL", "MSFT"])
    await expect(field(tab, "instructions").locator("span")).to_have_text(["Call me captain."])
    await expect(tab.page.get_by_test_id("memory-counts")).to_have_text(
        "1 call so far, asked most about weather (1). Kept until you erase it."
    )


async def test_each_edit_is_saved_and_single_facts_can_be_removed(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser) as tab:
        await known_user(here, tab)
        await open_memory(here, tab)
        await field(tab, "default_location").fill("Oslo")
        await field(tab, "default_location").press("Enter")
        await tab.sees("memory-said", "Saved: Home")
        await field(tab, "name").fill("")
        await field(tab, "name").press("Tab")
        await tab.sees("memory-said", "Forgotten: Name")
        await field(tab, "add-facts").fill("speaks Norwegian")
        await field(tab, "add-facts").press("Enter")
        await tab.sees("memory-facts", "speaks Norwegian")
        await tab.page.get_by_role("button", name="Forget: has a dog").click()
        await tab.page.get_by_role("button", name="Forget: AAPL").click()
        await tab.sees("memory-said", "Forgotten: AAPL")
        await field(tab, "add-instructions").fill("Always answer in one sentence.")
        await field(tab, "add-instructions").press("Enter")
        await tab.sees("memory-instructions", "Always answer in one sentence.")
        await tab.page.get_by_role("button", name="Forget: Call me captain.").click()
        await tab.sees("memory-said", "Forgotten: Call me captain.")
        await field(tab, "summary").fill("Likes short answers.")
        await field(tab, "summary").press("Tab")
        await tab.sees("memory-said", "Saved: Our conversations so far")
        now = await known(here)
    assert now["preferences"] == {
        "temperature_unit": "celsius",
        "watched_tickers": ["MSFT"],
        "default_location": "Oslo",
    }
    assert now["facts"] == ["plays the cello", "speaks Norwegian"]
    assert now["instructions"] == ["Always answer in one sentence."]
    assert now["summary"] == "Likes short answers."


async def test_a_refused_edit_stays_in_its_field_with_the_reason(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, complaints="expected") as tab:
        await known_user(here, tab)
        await open_memory(here, tab)
        await field(tab, "time_zone").fill("Middle Earth")
        await field(tab, "time_zone").press("Enter")
        await tab.sees("memory-said", "must be an IANA name")
        await expect(field(tab, "time_zone")).to_have_attribute("aria-invalid", "true")
        await expect(field(tab, "time_zone")).to_have_value("Middle Earth")
        here.memory.down = True
        await field(tab, "add-tickers").fill("TSLA")
        await field(tab, "add-tickers").press("Enter")
        await tab.sees("memory-said", "Memory is down")
        await tab.page.locator("[data-testid=memory-said].failed").wait_for()
        await expect(field(tab, "add-tickers")).to_have_value("TSLA")
        here.memory.down = False
        await field(tab, "add-tickers").press("Enter")
        await tab.sees("memory-tickers", "TSLA")


async def test_all_data_can_be_exported_as_a_file(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser) as tab:
        await known_user(here, tab)
        await open_memory(here, tab)
        async with tab.page.expect_download() as download:
            await tab.press("memory-export")
        file = await (await download.value).path()
        exported = json.loads(file.read_text())
    assert exported["memory"][f"user:{USER}:context"]["facts"] == ["has a dog", "plays the cello"]


async def test_an_erasure_asks_for_confirmation_and_leaves_nothing(here: World, tab: Tab) -> None:
    await tab.press("memory-erase")
    assert await tab.page.evaluate("document.activeElement.dataset.testid") == "memory-keep"
    await tab.press("memory-keep")
    assert await known(here) and not await field(tab, "confirm").is_visible()
    await tab.press("memory-erase")
    await tab.press("memory-erase-now")
    await tab.sees("memory-said", "Everything about you was erased.")
    assert await known(here) == {}
    await expect(field(tab, "name")).to_have_value("")
    await expect(field(tab, "facts").locator("li")).to_have_count(0)
    await tab.page.keyboard.press("Escape")
    await tab.page.get_by_test_id("memory").wait_for(state="hidden")
    assert await tab.page.evaluate("document.activeElement.dataset.testid") == "open-memory"


async def test_a_late_answer_does_not_overwrite_a_newer_change(here: World, tab: Tab) -> None:
    held = asyncio.Event()

    async def hold_the_first(route: Route) -> None:
        answer = await route.fetch()
        if route.request.method == "GET" and not held.is_set():
            held.set()
            await asyncio.sleep(2)
        await route.fulfill(response=answer)

    await tab.page.route("**/api/me", hold_the_first)
    await tab.page.goto(here.url)
    await asyncio.wait_for(held.wait(), 30)
    await tab.press("open-memory")
    await tab.sees("memory-counts", "so far")
    await field(tab, "default_location").fill("Oslo")
    await field(tab, "default_location").press("Enter")
    await tab.sees("memory-said", "Saved: Home")
    await asyncio.sleep(2.5)
    await expect(tab.page.get_by_test_id("memory-said")).to_have_text("Saved: Home")
    await expect(field(tab, "default_location")).to_have_value("Oslo")


async def test_changes_from_elsewhere_are_shown_without_overwriting_typed_text(
    browser: Browser, tmp_path: Path
) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, complaints="expected") as tab:
        await known_user(here, tab)
        await open_memory(here, tab)
        await field(tab, "name").fill("Adela")
        await field(tab, "add-facts").fill("half a fa")
        await tab.sees("memory-said", "Saved: Name")
        await field(tab, "default_location").fill("Ber")
        changes = SetPreference("default_location", "Oslo"), SetPreference("language", "German"), AddFact("sings")
        await update_profile(here.memory, USER, *changes)
        await tab.sees("memory-facts", "sings")
        await tab.sees("memory-said", "Updated just now.")
        await expect(field(tab, "language")).to_have_value("German")
        await expect(field(tab, "default_location")).to_have_value("Ber")
        await expect(field(tab, "add-facts")).to_have_value("half a fa")
        assert await tab.page.evaluate("document.activeElement.dataset.testid") == "memory-default_location"
