"""The server that most tests here ask, and a browser of its caller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.http.world import World, world


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    """A server as it is set by default, without limits."""
    async with world(tmp_path) as running:
        yield running


@pytest.fixture
async def browser(here: World) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that has not been here yet."""
    async with here.browser() as client:
        yield client
