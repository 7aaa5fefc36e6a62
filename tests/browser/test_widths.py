"""Every part of the page fits on the screen at every width and zoom, in every state of a call."""

import pytest
from playwright.async_api import Browser

from tests.browser.test_audit import converse
from tests.support.browser import Tab, tab_in
from tests.support.looks import OUTSIDE, SETTLED, outside
from tests.support.standin import CONFIG, StandIn, standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

RECORDED = {"offered": True, "keep_hours": 168}
COVERED = """() => {
  const pressed = ".top button, .dock button, .dock input, .state, .recording-question button";
  const parts = [...document.querySelectorAll(pressed)];
  const seen = parts.filter((part) => part.checkVisibility({ visibilityProperty: true }));
  const covered = seen.filter((part) => {
    const { left, top, width, height } = part.getBoundingClientRect();
    const above = document.elementFromPoint(left + width / 2, top + height / 2);
    return width > 1 && !(above && (part.contains(above) || above.contains(part)));
  });
  const brand = document.querySelector(".brand");
  const cut = brand.scrollWidth > brand.clientWidth ? ["brand"] : [];
  return [...cut, ...covered.map((part) => part.dataset.testid ?? part.className)];
}"""
"""Returns the parts under something else or beyond an edge, and whether the page's name is cut."""
SUMMARY_COVERED = """() => {
  const facts = document.querySelector("[data-testid=listen-recording]");
  facts.scrollIntoView({ block: "end" });
  const { left, top, height } = facts.getBoundingClientRect();
  return facts.contains(document.elementFromPoint(left + 20, top + height / 2));
}"""
OPENED = f"""async (names) => {{
  const outside = {OUTSIDE}, settled = {SETTLED};
  const found = {{ page: outside() }};
  for (const name of names) {{
    const opener = document.querySelector(`[data-testid=${{name}}]`);
    if (!opener?.checkVisibility({{ visibilityProperty: true }})) continue;
    opener.click();
    await settled();
    found[name] = outside();
    document.querySelector("dialog[open]")?.close();
    if (opener.ariaExpanded === "true") opener.click();
    await settled();
  }}
  return found;
}}"""
"""Returns the parts outside of the screen, by what was opened."""
WIDTHS = (320, 390, 641, 768, 1080, 1440, 2560)
WIDTHS_OF_PHONES = (320, 340, 360, 390)
OPENERS = ("open-devices", "open-side", "open-past", "open-memory", "open-settings", "open-drawer")


async def at_width(tab: Tab, width: int, height: int) -> None:
    await tab.page.set_viewport_size({"width": width, "height": height})
    await tab.page.evaluate(SETTLED)


async def nothing_is_covered(tab: Tab) -> None:
    """Assert that no part is covered or outside on any phone in the current state."""
    for width in WIDTHS_OF_PHONES:
        await at_width(tab, width, 640)
        assert [width, await tab.page.evaluate(COVERED), await outside(tab)] == [width, [], []]


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


@pytest.mark.parametrize("state", ["ready", "silent", "talking", "muted", "ended"])
async def test_every_dialog_fits_on_the_screen_at_every_width(browser: Browser, state: str) -> None:
    async with standing_in() as server, tab_in(browser, complaints="expected", size=(WIDTHS[0], 720)) as tab:
        await tab.open(server.url)
        await in_state(tab, server, state)
        opened: set[str] = set()
        for width in WIDTHS:
            await at_width(tab, width, 720)
            found = await tab.page.evaluate(OPENED, OPENERS)
            opened |= found.keys()
            assert not {(width, name): parts for name, parts in found.items() if parts}
        assert opened >= {"page", "open-memory", "open-settings"}, opened


@pytest.mark.parametrize("language", ["en", "de", "fr", "ja"])
async def test_no_button_is_covered_on_any_phone(browser: Browser, language: str) -> None:
    async with standing_in() as server, tab_in(browser, size=(WIDTHS_OF_PHONES[0], 640), language=language) as tab:
        server.config = CONFIG | {"extensions": {"recordings": RECORDED, "sharing": {"days": 7}}}
        await tab.page.goto(f"{server.url}/?raw=1")
        await tab.page.locator("body[data-phase=ready]").wait_for()
        await nothing_is_covered(tab)
        await tab.press("connect")
        await tab.page.locator("body[data-phase=connected]").wait_for()
        converse(server)
        await tab.page.get_by_test_id("recording-agree").wait_for()
        await tab.sees("transcript", "And then")
        await nothing_is_covered(tab)
        await tab.press("recording-agree")
        await tab.page.get_by_test_id("recording-stop").wait_for()
        await nothing_is_covered(tab)
        await tab.press("connect")
        await tab.page.get_by_test_id("listen-recording").wait_for()
        await nothing_is_covered(tab)
        for width in WIDTHS_OF_PHONES:
            await at_width(tab, width, 640)
            assert await tab.page.evaluate(SUMMARY_COVERED), f"the end of the summary can be scrolled to at {width}"


@pytest.mark.parametrize("size", [(640, 360), (720, 450)])  # 1280 × 720 and 1440 × 900 at 200 %
async def test_the_call_button_is_in_view_at_twice_the_size(browser: Browser, size: tuple[int, int]) -> None:
    async def in_view(state: str) -> None:
        box = await tab.page.get_by_test_id("connect").bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= size[1], state
        assert "connect" not in await tab.page.evaluate(COVERED), state

    async with standing_in() as server, tab_in(browser, complaints="expected", size=size) as tab:
        server.config = CONFIG | {"extensions": {"recordings": RECORDED}}
        await tab.open(server.url)
        await in_view("ready")
        await in_state(tab, server, "talking")
        await tab.sees("recording-question", "May this call be recorded?")
        await in_view("asked whether it may be recorded")
        await tab.press("recording-agree")
        await tab.sees("recording", "Recording")
        await in_view("recorded")
        await tab.press("open-side")
        await tab.sees("thinker", "Weather")
        await in_view("beside the Thinkers")
        await tab.press("open-side")
        server.publish("error", message="The voice service is slow.", hint="It will catch up.")
        await tab.sees("notice", "The voice service is slow.")
        await in_view("a problem")
