"""The server of most tests in this folder, and the browser of a caller."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.http.world import World, world


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    """Run a server with default settings, without limits."""
    async with world(tmp_path) as running:
        yield running


@pytest.fixture
async def browser(here: World) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a browser without a cookie."""
    async with here.browser() as client:
        yield client
