"""The load of this process, which decides whether it accepts another call.

A call that a server accepts but cannot serve is worse than one that it refuses: the audio of all calls stutters. So two
things are watched: how late the event loop wakes up from a short sleep, and how much of a processor the process uses.
Both are judged over some seconds, so that one hiccup refuses no call.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

from backend.errors import Overloaded

SAMPLE_EVERY_S = 0.25
SAMPLES = 20
"""The number of samples judged together: five seconds."""
ENOUGH = 12
"""The number of samples below which nothing is judged, since start-up itself is busy."""
RETRY_AFTER_S = 5
"""Seconds after which a refused caller may try again: by then the samples are others."""
MOST = 0.8
"""The share of the samples that must be within the limit."""
MAX_CPU = 0.85
"""The share of one core above which no further call is accepted."""


class Load:
    """The load, judged by the samples that `watch` takes. With a `max_lag_ms` of 0 no load is too much."""

    def __init__(self, max_lag_ms: float) -> None:
        self._max_lag_ms = max_lag_ms
        self._lags_ms: deque[float] = deque(maxlen=SAMPLES)
        self._cpu: deque[float] = deque(maxlen=SAMPLES)

    def sample(self, lag_ms: float, cpu: float) -> None:
        """Add a sample: how late the loop was, and the share of one core that the process has used since the last."""
        self._lags_ms.append(lag_ms)
        self._cpu.append(cpu)

    @property
    def lag_ms(self) -> float:
        """The milliseconds by which the loop wakes up late, of which four of five samples stay below."""
        return sorted(self._lags_ms)[math.ceil(MOST * len(self._lags_ms)) - 1] if self._lags_ms else 0.0

    @property
    def cpu(self) -> float:
        """The share of one core that the process has used lately, 1 for all of it."""
        return sum(self._cpu) / len(self._cpu) if self._cpu else 0.0

    @property
    def fullness(self) -> float:
        """The load: 0 when idle, 1 at a limit."""
        late = self.lag_ms / self._max_lag_ms if self._max_lag_ms else 0.0
        return min(1.0, max(late, self.cpu / MAX_CPU))

    @property
    def is_full(self) -> bool:
        """True if no further call is accepted; False until there are enough samples."""
        if not self._max_lag_ms or len(self._lags_ms) < ENOUGH:
            return False
        return self.lag_ms > self._max_lag_ms or self.cpu > MAX_CPU

    def admit(self) -> None:
        """Raise `Overloaded` if no further call is accepted."""
        if self.is_full:
            raise Overloaded(
                "The server is too busy for another call.",
                retry_after_s=RETRY_AFTER_S,
                hint="Try again in a few seconds. The operator can add processes (WORKERS) or machines.",
            )


async def watch(
    load: Load, clock: Callable[[], float] = time.perf_counter, cpu_clock: Callable[[], float] = time.process_time
) -> None:
    """Sample this process's event loop until cancelled."""
    began, cpu_began = clock(), cpu_clock()
    while True:
        await asyncio.sleep(SAMPLE_EVERY_S)
        now, cpu_now = clock(), cpu_clock()
        passed = now - began
        load.sample(max(0.0, passed - SAMPLE_EVERY_S) * 1000, (cpu_now - cpu_began) / passed)
        began, cpu_began = now, cpu_now
