"""Fixtures over a real Redis, one process a module; `tests/conftest.py` offers them to every test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from backend.storage.client import connect
from tests.support.redis_server import RedisProcess, running_redis


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
