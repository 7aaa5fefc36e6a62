"""Waiting for something another process or a socket does: the one place where tests look at the clock."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], bool | Awaitable[bool]], within_s: float = 15.0) -> None:
    """Return as soon as `condition()` (plain or async) holds. Raises `AssertionError` when it does not in time."""
    try:
        async with asyncio.timeout(within_s):
            while not await _holds(condition):  # noqa: ASYNC110 - what we wait for is outside of this process
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not so within {within_s} s: {inspect.getsource(condition).strip()}") from None


async def _holds(condition: Callable[[], bool | Awaitable[bool]]) -> bool:
    answer = condition()
    return answer if isinstance(answer, bool) else await answer
