"""The tasks, threads, sockets, timers and peers of a process, to compare before and after."""

import asyncio
import gc
import threading
from dataclasses import dataclass
from typing import Any

import psutil
from aiortc import RTCPeerConnection

from tests.support.waiting import until


@dataclass(frozen=True, slots=True)
class Holdings:
    """Counts that must not grow."""

    tasks: int
    threads: int
    sockets: int
    timers: int
    peers: int


def holdings() -> Holdings:
    """The counts now, after a garbage collection."""
    gc.collect()
    loop: Any = asyncio.get_running_loop()
    return Holdings(
        tasks=len(asyncio.all_tasks()),
        threads=threading.active_count(),
        sockets=len(psutil.Process().net_connections(kind="all")),
        timers=sum(not timer.cancelled() for timer in loop._scheduled),
        peers=sum(isinstance(thing, RTCPeerConnection) for thing in gc.get_objects()),
    )


async def released(before: Holdings, within_s: float = 10.0) -> None:
    """Wait until no count is above `before`."""

    def nothing_more() -> bool:
        now = holdings()
        return all(getattr(now, name) <= getattr(before, name) for name in ("tasks", "threads", "sockets", "peers"))

    try:
        await until(nothing_more, within_s)
    except AssertionError:
        raise AssertionError(f"before {before}, now {holdings()}: {asyncio.all_tasks()}") from None
    assert holdings().timers <= before.timers + 1, "a timer was left behind"  # one belongs to this wait
