"""The one way to Redis: every call bounded, every failure `MemoryUnavailable`, a dead server asked once a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from backend.errors import MemoryUnavailable
from backend.storage.client import CircuitBreaker

TIMEOUT_S = 1.0
"""Seconds a call may take, all in all."""
REST_S = 1.0
"""Seconds between two tries while Redis does not answer."""


class Guard:
    """`await guard(lambda: redis.get(key))`. Each user of Redis has a guard, and with it a breaker, of its own."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._breaker = CircuitBreaker(REST_S)

    def __repr__(self) -> str:
        return f"Guard({self._breaker})"

    async def __call__(self, work: Callable[[], Any]) -> Any:
        """Run `work`. Raises `MemoryUnavailable` for everything Redis or the network can do to us."""
        if not self._breaker.allows(time.monotonic()):
            raise MemoryUnavailable("Redis did not answer a moment ago.")
        try:
            async with asyncio.timeout(self._timeout_s):
                result = await cast(Awaitable[Any], work())
        except (TimeoutError, OSError, RedisConnectionError, RedisTimeout) as error:
            self._breaker.failed(time.monotonic())
            raise MemoryUnavailable(f"Redis does not answer ({type(error).__name__}).") from error
        except RedisError as error:
            self._breaker.succeeded()
            raise MemoryUnavailable(f"Redis refused ({type(error).__name__}).") from error
        self._breaker.succeeded()
        return result
