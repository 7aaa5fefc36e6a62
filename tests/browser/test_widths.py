"""Whatever opens stays on the screen, at every width and zoom, in every state of a call."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.support.browser import Tab, launched, tab_in
from tests.support.standin import StandIn, standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

OUTSIDE = """() => {
  const { scrollWidth } = document.documentElement;
  const wide = scrollWidth > innerWidth ? [`page ${scrollWidth}`] : [];
  const aside = ".examples, .log, .unseen";
  const shown = [...document.querySelectorAll("button, input, select, [role=group], dialog[open], .devices")].filter(
    (part) => part.checkVisibility({ visibilityProperty: true }) && !part.closest(aside));
  const out = shown.filter((part) => {
    const { left, right, width } = part.getBoundingClientRect();
    return width && (left < -1 || right > innerWidth + 1);
  });
  return [...wide, ...out.map((part) => part.dataset.testid ?? part.className ?? part.tagName)];
}"""
"""What lies beyond the left or the right edge."""
OPENERS = ("open-devices", "open-side", "open-past", "open-memory", "open-settings", "open-drawer")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as started:
        yield started


async def outside(tab: Tab) -> list[str]:
    found: list[str] = await tab.page.evaluate(OUTSIDE)
    return found


async def in_state(tab: Tab, server: StandIn, state: str) -> None:
    if state in ("silent", "talking", "muted", "ended"):
        if state == "silent":
            await tab.page.get_by_test_id("composer-text").fill("Hello")
            await tab.page.keyboard.press("Enter")
        else:
            await tab.press("connect")
        await tab.sees("state", "Connected")
        server.publish("session_started", session_id="s", responder="r", model="m", offline=True)
        words = "A rather long answer of many words. " * 12
        server.publish("transcript", role="assistant", item_id="a1", content=words)
        server.publish("thinker", call_id="c1", event="working", domain="weather", label="Weather", elapsed_ms=1)
        await tab.sees("transcript", "A rather long answer")
    if state == "muted":
        await tab.press("mute")
    if state == "ended":
        server.publish("session_ended", reason="responder_refused")
        await tab.sees("state", "Not connected")


@pytest.mark.parametrize("width", [320, 390, 641, 768, 1080, 1440, 2560])
@pytest.mark.parametrize("state", ["ready", "silent", "talking", "muted", "ended"])
async def test_everything_that_opens_stays_on_the_screen(browser: Browser, width: int, state: str) -> None:
    async with standing_in() as server, tab_in(browser, complaints="expected", size=(width, 720)) as tab:
        await tab.open(server.url)
        await in_state(tab, server, state)
        found = {"page": await outside(tab)}
        for name in OPENERS:
            opener = tab.page.get_by_test_id(name)
            if await opener.count() and await opener.is_visible():
                await opener.click()
                await tab.page.wait_for_timeout(250)
                found[name] = await outside(tab)
                await tab.page.keyboard.press("Escape")
                if await opener.get_attribute("aria-expanded") == "true":
                    await opener.click()
        assert not {name: parts for name, parts in found.items() if parts}


@pytest.mark.parametrize("size", [(640, 360), (720, 450)])  # 1280 × 720 and 1440 × 900 at 200 %
async def test_at_twice_the_size_the_call_button_is_in_view(browser: Browser, size: tuple[int, int]) -> None:
    async with standing_in() as server, tab_in(browser, size=size) as tab:
        await tab.open(server.url)
        for state in ("ready", "talking"):
            await in_state(tab, server, state)
            box = await tab.page.get_by_test_id("connect").bounding_box()
            assert box and box["y"] >= 0 and box["y"] + box["height"] <= size[1], state
