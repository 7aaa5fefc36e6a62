"""Token buckets limit how often something may be done. A bucket holds a minute's worth, and refills evenly.

A single process keeps its buckets in a bounded table. When the table is full, the bucket used longest ago is dropped,
and its owner starts again with a full one. Several processes share their buckets in Redis; while Redis does not answer,
each counts its own.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from backend.access.store import AccessStore
from backend.errors import MemoryUnavailable, TooMany

TABLE_LIMIT = 10_000
"""The most buckets of one kind in a process's table."""
ROUNDING_S = 1e-6


class Buckets:
    """One bucket for each key. `per_minute` 0 lets everything through."""

    def __init__(
        self,
        per_minute: int,
        *,
        what: str,
        name: str = "",
        shared: AccessStore | None = None,
        limit: int = TABLE_LIMIT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`what` says to callers what is limited. With `shared`, all processes count together, under `name`."""
        self._per_minute = per_minute
        self._what = what
        self._name = name or what
        self._shared = shared
        self._limit = limit
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """Key → the second at which its bucket is full again."""

    def __len__(self) -> int:
        return len(self._full_at)

    async def take(self, key: str, now: float, count: int = 1) -> None:
        """Spend one of `key`'s requests at `now` (seconds of any steady clock). Raises `TooMany` when none is left."""
        if self._shared is not None and self._per_minute:
            unix = self._clock()
            try:
                await self._shared.change_bucket(f"{self._name} {key}", lambda at: self._spent(at, unix, count), unix)
                return
            except MemoryUnavailable:
                pass  # Meanwhile this process counts alone.
        self.take_here(key, now, count)

    async def check(self, key: str, now: float) -> None:
        """Raise `TooMany` when none of `key`'s requests is left. Spends nothing."""
        await self.take(key, now, 0)

    def take_here(self, key: str, now: float, count: int = 1) -> None:
        """Spend one of `key`'s requests in this process's table alone. Raises `TooMany` when none is left."""
        if not self._per_minute:
            return
        known = self._full_at.setdefault(key, now)
        self._full_at.move_to_end(key)
        if len(self._full_at) > self._limit:
            self._full_at.popitem(last=False)
        self._full_at[key] = self._spent(known, now, count)

    def _spent(self, full_at: float, now: float, count: int) -> float:
        """Take `count` requests from a bucket, and return when it is full again. Raises `TooMany`."""
        each_s = 60 / self._per_minute
        full_at = max(full_at, now)
        wait_s = full_at + each_s - 60 - now
        if wait_s > ROUNDING_S:
            hint = f"The limit is {self._per_minute} per minute."
            raise TooMany(f"Too many {self._what}.", retry_after_s=max(1, math.ceil(wait_s - ROUNDING_S)), hint=hint)
        return full_at + count * each_s
