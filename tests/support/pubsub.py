"""The clients and the pub/sub of one process on a shared Redis."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from backend.storage.client import connect
from backend.storage.pubsub import PubSub


@asynccontextmanager
async def clients(url: str) -> AsyncIterator[tuple[Redis, PubSub]]:
    """A client, and a pub/sub that the test starts once it has subscribed."""
    redis, waiting = connect(url), connect(url, waiting=True)
    pubsub = PubSub(redis, waiting)
    try:
        yield redis, pubsub
    finally:
        await pubsub.close()
        await waiting.aclose()
        await redis.aclose()
