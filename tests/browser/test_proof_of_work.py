"""A stranger's page proves work in a worker, before a call, and its own thread goes on meanwhile."""

from __future__ import annotations

import pytest

from tests.support.browser import chromium
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.alone]

WATCH_FREEZES = """(() => {
  let before = performance.now();
  window.longestMs = 0;
  setInterval(() => {
    const now = performance.now();
    window.longestMs = Math.max(window.longestMs, now - before);
    before = now;
  }, 10);
})()"""
MOST_MS = 400
"""The work takes several times as long, and would all be one freeze."""


async def test_a_page_proves_work_without_freezing_and_its_call_is_placed() -> None:
    bits = {"BUDGETS__PROOF_OF_WORK_BITS": "19", "BUDGETS__LIMIT_LOOPBACK": "true"}
    async with real_server(**bits) as url, chromium(complaints="expected") as tab:
        workers: list[str] = []
        tab.page.on("worker", lambda worker: workers.append(worker.url))
        await tab.open(url)
        assert not workers, "looking at the page costs nothing"
        await tab.page.evaluate(WATCH_FREEZES)
        began = await tab.page.evaluate("performance.now()")
        await tab.connect()
        took_ms = await tab.page.evaluate("performance.now()") - began
        assert [address.rpartition("/")[2] for address in workers] == ["proof_of_work.js"], "once for all requests"
        longest_ms = await tab.page.evaluate("longestMs")
        assert longest_ms < MOST_MS, f"{longest_ms:.0f} ms of {took_ms:.0f}"
        refused = [said for said in tab.complaints if "428" not in said]
        assert not refused, refused
