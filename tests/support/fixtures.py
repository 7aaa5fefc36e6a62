"""Fixtures of `tests/conftest.py` for every test: a real Redis, and a Chromium for each module."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from backend.observability.logs import keep_words_out
from backend.storage.client import connect
from tests.support.redis_server import RedisProcess, running_redis

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest.fixture
def wordless_logs() -> Iterator[None]:
    """Log records without what users say, as in a server that has started."""
    before = logging.getLogRecordFactory()
    keep_words_out()
    yield
    logging.setLogRecordFactory(before)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisProcess]:
    """A redis-server, for tests that freeze it, kill it or connect to it themselves."""
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
    """A Chromium for the module, with a microphone that beeps. Each test opens its own tabs in it by `tab_in`.

    One Chromium for all modules would be slower: leftovers of a test slow down later ones.
    """
    from tests.support.browser import launched  # Playwright imports slowly, and most processes do not need it

    async with launched() as started:
        yield started
