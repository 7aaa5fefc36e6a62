"""A Redis for the servers of one file."""

from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisProcess, running_redis


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server
