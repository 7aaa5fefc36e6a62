"""axe-core in an open page: it finds what excludes people who cannot see, point or hear."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import Page

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
"""Installed by `make install-test`; see package.json."""
RUN = """async () => {
  // A colour on its way to another one has neither's contrast.
  const ending = document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(ending.map((each) => each.finished));
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(({ id, impact, help, nodes }) => ({
    id, impact, help, nodes: nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
  }));
}"""


async def findings(page: Page) -> list[dict[str, Any]]:
    """All findings of axe-core in the page as it is now, each with its impact and the elements."""
    # Evaluated, not loaded: the page's policy allows only its own scripts.
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(_source())
    found: list[dict[str, Any]] = await page.evaluate(RUN)
    return found


async def assert_accessible(page: Page, state: str) -> None:
    """Fail on any finding: of the guidelines' rules, or of axe-core's own recommendations."""
    found = await findings(page)
    listed = "\n".join(
        f"{each['id']} ({each['impact']}): {each['help']}\n  " + "\n  ".join(each["nodes"]) for each in found
    )
    assert not found, f"{state}:\n{listed}"


@cache
def _source() -> str:
    return AXE.read_text()
