"""Two servers on one Redis."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import running_redis
from tests.support.running_server import RunningServer, running_server


@contextmanager
def two_servers(peer: OfflinePeer, **env: str) -> Iterator[tuple[RunningServer, RunningServer]]:
    """Two servers that share a Redis and a signing key."""
    with running_redis() as redis:
        shared = {"REDIS_URL": redis.url, "SECRET_KEY": "k" * 32, "BACKGROUND__WORKER": "off"} | env
        with running_server(peer, **shared) as one, running_server(peer, **shared) as two:
            yield one, two
