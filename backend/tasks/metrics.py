"""What `/metrics` says of tasks: how many wait and run, what happened to them, and how many workers there are.

They are counted in Redis, in the transactions that make them true, so every server shows the figures of all processes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from backend.errors import MemoryUnavailable
from backend.tasks.queue import DocketQueue
from backend.tasks.repository import Records

FRESH_S = 0.9
"""Seconds the figures are good for."""
EVENTS = ("queued", "running", "retrying", "done", "failed", "canceled")


class TaskFigures(Collector):
    """The latest figures; `look` reads them again when they are old."""

    def __init__(self, records: Records, queue: DocketQueue) -> None:
        self._records = records
        self._queue = queue
        self._looked = 0.0
        self._counts: dict[str, int] = {}
        self.workers = 0
        """Workers heard of in the last seconds, in all processes."""

    def __repr__(self) -> str:
        return f"TaskFigures({self._counts.get('running_now', 0)} running, {self.workers} workers)"

    def show_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show them."""
        registry.register(self)

    async def look(self) -> bool:
        """Read them again, if they are old and Redis answers. False: they are too new to be read."""
        if time.monotonic() - self._looked < FRESH_S:
            return False
        self._looked = time.monotonic()
        with contextlib.suppress(MemoryUnavailable):
            self._counts = await self._records.counts()
            self.workers = await self._queue.workers()
        return True

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        now = GaugeMetricFamily("voice_tasks", "Background tasks now, by state.", labels=["state"])
        for state in ("queued", "running"):
            now.add_metric([state], self._counts.get(f"{state}_now", 0))
        yield now
        happened = CounterMetricFamily("voice_task_events", "What happened to background tasks.", labels=["event"])
        for event in EVENTS:
            happened.add_metric([event], self._counts.get(event, 0))
        yield happened
        yield GaugeMetricFamily("voice_task_workers", "Workers of background tasks.", value=self.workers)
