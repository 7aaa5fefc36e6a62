"""Memory in this process, for tests: without a server, with an outage to switch on, and time that tests advance."""

from collections.abc import Callable
from typing import Any

from fakeredis import FakeAsyncRedis
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.storage.client import RedisClient
from backend.storage.memory import Memory


class FakeMemory(Memory):
    """`Memory` over a Redis in this process. While `down` is set, every method raises `MemoryUnavailable`."""

    down = False
    """True while memory cannot be reached."""

    def __init__(self, *, user_ttl_s: int | None = None) -> None:
        super().__init__(FakeAsyncRedis(), user_ttl_s=user_ttl_s)
        self._client = _Switched(self._client.redis, self)

    async def age(self, seconds: float) -> None:
        """Let everything expire as if `seconds` had passed."""
        await age(self._client.redis, seconds)


async def age(redis: Redis, seconds: float) -> None:
    """Take `seconds` off the remaining life of every key."""
    for key in await redis.keys("*"):
        left_ms = await redis.pttl(key)
        if left_ms >= 0:
            await redis.pexpire(key, round(left_ms - seconds * 1000))


class _Switched(RedisClient):
    def __init__(self, redis: Redis, memory: FakeMemory) -> None:
        super().__init__(redis)
        self._memory = memory

    async def call(self, work: Callable[[Redis], Any]) -> Any:
        if self._memory.down:
            raise MemoryUnavailable("Memory is down, as the test asked.")
        return await super().call(work)
