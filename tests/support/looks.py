"""The looks of a page: both colour schemes on a desktop and on the narrowest phone, and the rules for each."""

from typing import Literal, NamedTuple

from tests.support.axe import assert_accessible
from tests.support.browser import Tab


class Look(NamedTuple):
    """One look of a page."""

    scheme: Literal["dark", "light"]
    width: int
    height: int


WIDE = [Look("dark", 1440, 900), Look("light", 1440, 900)]
NARROW = [Look("dark", 320, 640), Look("light", 320, 640)]
OUTSIDE = """() => {
  const { scrollWidth } = document.documentElement;
  const wide = scrollWidth > innerWidth ? [`page ${scrollWidth}`] : [];
  const aside = ".examples, .log, .unseen, .table-frame, .frame"; // hidden, or in what scrolls by itself
  const shown = [...document.querySelectorAll("button, input, select, [role=group], dialog[open], .devices")].filter(
    (part) => part.checkVisibility({ visibilityProperty: true }) && !part.closest(aside));
  const out = shown.filter((part) => {
    const { left, right, width } = part.getBoundingClientRect();
    return width && (left < -1 || right > innerWidth + 1);
  });
  return [...wide, ...out.map((part) => part.dataset.testid ?? part.className ?? part.tagName)];
}"""
"""Lists the elements beyond the left or the right edge."""
SETTLED = """async () => {
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const ending = document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(ending.map((each) => each.finished));
}"""
"""Waits for the end of all animations."""


async def show(tab: Tab, look: Look) -> None:
    """Show the page in this look."""
    await tab.page.emulate_media(color_scheme=look.scheme)
    await tab.page.set_viewport_size({"width": look.width, "height": look.height})
    await tab.page.evaluate(SETTLED)


async def outside(tab: Tab) -> list[str]:
    """Return the elements beyond an edge."""
    found: list[str] = await tab.page.evaluate(OUTSIDE)
    return found


async def fits_and_is_accessible(tab: Tab, state: str) -> None:
    """Fail unless the page, in this state, can be seen and used in every look. The first look stays."""
    for look in (*NARROW, *reversed(WIDE)):
        await show(tab, look)
        await assert_accessible(tab.page, f"{state}, {look}")
        assert await outside(tab) == [], f"{state}, {look}"
