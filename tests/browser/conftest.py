"""The page as most tests use it: on a stand-in for the server, or on the real routes."""

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
    """Run the stand-in for the server."""
    async with standing_in() as serving:
        yield serving


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: Browser, server: StandIn) -> AsyncIterator[Tab]:
    """Open the page in a tab; the test fails if the console has an error."""
    async with tab_in(browser) as opened:
        await opened.open(server.url)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def here(tmp_path: Path) -> AsyncIterator[World]:
    """Run the real routes, which serve the page."""
    async with page_world(tmp_path) as world:
        yield world
