"""The page as most tests of it want it: opened on a stand-in for the server, or on the real routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser

from tests.http.world import World
from tests.support.browser import Tab, tab_in
from tests.support.page import page_world
from tests.support.standin import StandIn, standing_in


@pytest_asyncio.fixture(loop_scope="module")
async def server() -> AsyncIterator[StandIn]:
    """What the page takes for its server."""
    async with standing_in() as serving:
        yield serving


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: Browser, server: StandIn) -> AsyncIterator[Tab]:
    """A tab in which the page is open; the test fails if the page complained in its console."""
    async with tab_in(browser) as opened:
        await opened.open(server.url)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def here(tmp_path: Path) -> AsyncIterator[World]:
    """The real routes, which serve the page."""
    async with page_world(tmp_path) as world:
        yield world
