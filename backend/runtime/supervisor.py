"""Supervised loops: every task that lives as long as the process runs under `supervised`, so that none ends unnoticed.

A loop that raises is logged, counted and started again after a pause that doubles from 0.1 to 5 seconds. A loop that
returns is over, and so is one that is cancelled. `failing_loops` names the loops that raised within the last minute;
`/readyz` shows them, and `/metrics` counts the restarts of each.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
"""Seconds before the first restart; each further pause is twice as long."""
LONGEST_PAUSE_S = 5.0
"""The most seconds before a restart."""
HEALTHY_AFTER_S = 60.0
"""Seconds without a failure after which a loop counts as healthy, and its pauses begin again with the first."""

Loop = Callable[[], Coroutine[Any, Any, None]]

restarts: Counter[str] = Counter()
"""The number of restarts of each loop of this process, by name."""
_last_failure: dict[str, tuple[float, str]] = {}
"""The moment of each loop's last error (steady clock, seconds), and the type of the error."""
_left_behind: set[asyncio.Task[Any]] = set()
"""Tasks that are no longer awaited, referenced until they end."""


def supervised(name: str, loop: Loop) -> asyncio.Task[None]:
    """Return a task that keeps `loop` running until it returns or the task is cancelled.

    `name` is the loop's label in logs, metrics and `/readyz`: short, without anything personal.
    """
    return asyncio.create_task(_keep_running(name, loop), name=name)


@asynccontextmanager
async def supervising(name: str, loop: Loop) -> AsyncIterator[None]:
    """Keep `loop` running until the block ends, and wait for its end."""
    task = supervised(name, loop)
    try:
        yield
    finally:
        await cancel_all([task])


def failing_loops() -> dict[str, str]:
    """Return the loops that raised within the last `HEALTHY_AFTER_S` seconds: name → the type of the error."""
    since = time.monotonic() - HEALTHY_AFTER_S
    return {name: error for name, (at, error) in _last_failure.items() if at >= since}


def start_among(tasks: set[asyncio.Task[None]], name: str, work: Coroutine[Any, Any, None]) -> None:
    """Start `work` as a task of that name, which is one of `tasks` until it ends."""
    task = asyncio.create_task(work, name=name)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def cancel_all(tasks: Collection[asyncio.Task[Any]], *, within_s: float | None = None) -> None:
    """Cancel `tasks`, and wait up to `within_s` seconds until all have ended; None: without a limit."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=within_s)


async def event_or_timeout(event: asyncio.Event, within_s: float) -> None:
    """Wait until `event` is set, for `within_s` seconds at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()


def leave_behind(task: asyncio.Task[Any]) -> None:
    """Keep a reference to a task that is no longer awaited, and retrieve its error, which asyncio would log."""
    _left_behind.add(task)
    task.add_done_callback(_retrieve)


def _retrieve(task: asyncio.Task[Any]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()


async def _keep_running(name: str, loop: Loop) -> None:
    pause = FIRST_PAUSE_S
    while True:
        began = time.monotonic()
        try:
            return await loop()
        except Exception as error:
            log.exception("the loop %s failed and is started again in %.1f s", name, pause)
            restarts[name] += 1
            _last_failure[name] = (time.monotonic(), type(error).__name__)
        if time.monotonic() - began > HEALTHY_AFTER_S:
            pause = FIRST_PAUSE_S
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)
