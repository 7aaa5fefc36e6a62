"""Waiting for another process or a socket: the one place where tests look at the clock."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

TIMEOUT_S = 30.0
"""The most seconds to wait for a certain event: other tests share the machine, and no time is checked here."""


async def until(condition: Callable[[], bool | Awaitable[bool]], within_s: float = TIMEOUT_S) -> None:
    """Wait until `condition()` (plain or async) holds. Raises `AssertionError` if it does not in time."""
    deadline = asyncio.get_running_loop().time() + within_s
    try:
        async with asyncio.timeout_at(deadline):
            while not await _holds(condition):
                if asyncio.get_running_loop().time() > deadline:  # `condition` may swallow the timeout's cancellation
                    raise TimeoutError
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not so within {within_s} s: {inspect.getsource(condition).strip()}") from None


async def _holds(condition: Callable[[], bool | Awaitable[bool]]) -> bool:
    answer = condition()
    return answer if isinstance(answer, bool) else await answer
