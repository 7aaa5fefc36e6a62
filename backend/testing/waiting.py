"""Waiting for something another process or a socket does: the one place where tests look at the clock."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

TIMEOUT_S = 30.0
"""Seconds to wait for something certain: other tests share the machine, and no time is checked here."""


async def until(condition: Callable[[], bool | Awaitable[bool]], within_s: float = TIMEOUT_S) -> None:
    """Return as soon as `condition()` (plain or async) holds. Raises `AssertionError` when it does not in time."""
    deadline = asyncio.get_running_loop().time() + within_s
    try:
        async with asyncio.timeout_at(deadline):
            while not await _holds(condition):
                if asyncio.get_running_loop().time() > deadline:  # a cancellation can get lost in what was asked
                    raise TimeoutError
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not so within {within_s} s: {inspect.getsource(condition).strip()}") from None


async def _holds(condition: Callable[[], bool | Awaitable[bool]]) -> bool:
    answer = condition()
    return answer if isinstance(answer, bool) else await answer
