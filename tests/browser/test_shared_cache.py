"""Two callers of the page in two time zones ask the same question on the same day: one computation, one hit."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import combinations
from zoneinfo import ZoneInfo

import httpx2
import pytest

from tests.support.browser import launched, tab_in
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "What's the weather in Seattle?"
ZONES = ("Asia/Tokyo", "Asia/Kolkata", "Europe/Oslo", "America/New_York")


def of_one_day() -> tuple[str, str]:
    """Two time zones in which it is the same date for the next minutes; of these there are always two."""
    now = datetime.now(UTC)
    moments = (now, now + timedelta(minutes=5))
    dates = {zone: {moment.astimezone(ZoneInfo(zone)).date() for moment in moments} for zone in ZONES}
    return next(pair for pair in combinations(ZONES, 2) if len(dates[pair[0]] | dates[pair[1]]) == 1)


async def looked_up(url: str) -> dict[str, float]:
    """How often the cache of answers was asked, by outcome."""
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        page = (await http.get("/metrics")).text
    found = re.findall(r'^voice_answer_cache_total\{[^}]*outcome="(\w+)"[^}]*\} (\S+)$', page, re.MULTILINE)
    return {outcome: float(count) for outcome, count in found}


async def test_two_callers_of_the_page_in_two_time_zones_share_one_answer() -> None:
    sources = []
    async with real_server() as url, launched() as browser:
        for zone in of_one_day():
            async with tab_in(browser, time_zone=zone) as tab:
                await tab.open(url)
                await tab.page.get_by_role("button", name=QUESTION).click()
                await tab.sees("transcript", "In Seattle it is")
                sources.append(await tab.text("thinker"))
        counts = await looked_up(url)
    assert "live data" in sources[0] and "from cache" in sources[1]
    assert counts["hit"] == 1 and counts["miss"] == 1
