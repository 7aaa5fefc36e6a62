"""Two callers of the page in two time zones ask the same question: one computation, one entry of the cache, one hit."""

from __future__ import annotations

import re

import httpx2
import pytest

from tests.support.browser import launched, tab_in
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "What's the weather in Seattle?"


async def looked_up(url: str) -> dict[str, float]:
    """How often the cache of answers was asked, by outcome."""
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        page = (await http.get("/metrics")).text
    found = re.findall(r'^voice_answer_cache_total\{[^}]*outcome="(\w+)"[^}]*\} (\S+)$', page, re.MULTILINE)
    return {outcome: float(count) for outcome, count in found}


async def test_two_callers_of_the_page_in_two_time_zones_share_one_answer() -> None:
    sources = []
    async with real_server() as url, launched() as browser:
        for zone in ("Europe/Oslo", "Asia/Tokyo"):
            async with tab_in(browser, time_zone=zone) as tab:
                await tab.open(url)
                await tab.page.get_by_role("button", name=QUESTION).click()
                await tab.sees("transcript", "In Seattle it is")
                sources.append(await tab.text("thinker"))
        counts = await looked_up(url)
    assert "live data" in sources[0] and "from cache" in sources[1]
    assert counts["hit"] == 1 and counts["miss"] == 1
