"""Fixtures that `tests/conftest.py` offers to every test: a real Redis, or a Chromium, for each module."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from backend.storage.client import connect
from tests.support.redis_server import RedisProcess, running_redis

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest.fixture(scope="module")
def server() -> Iterator[RedisProcess]:
    """A redis-server, for those who freeze or kill it, or connect to it themselves."""
    with running_redis() as running:
        yield running


@pytest.fixture
async def redis(server: RedisProcess) -> AsyncIterator[Redis]:
    """A client of the server, which is empty."""
    client = connect(server.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium for the module, with a microphone that beeps; every test opens tabs of its own in it by `tab_in`.

    One for all modules would cost more: what a test leaves in it slows the next ones down.
    """
    from tests.support.browser import launched  # Playwright takes its time, and most processes need none of it

    async with launched() as started:
        yield started
