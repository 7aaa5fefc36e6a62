"""The broadcaster shows pages what happens to tasks: a change becomes `task` events in its owner's sessions here.

Changes come over Redis pub/sub as ids and states only; what an owner is shown is read from the record, and only when
that owner has a session here. A change missed while Redis is away is not sent again: the page asks `GET /api/tasks`
when it connects. The same loop refreshes what `/metrics` shows of tasks. They are counted in Redis, in the transactions
that make them true, so every server shows the numbers of all processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from backend.errors import MemoryUnavailable
from backend.page_events import TaskChanged, TaskFindings
from backend.runtime.faults import decode_or_skip
from backend.runtime.supervisor import event_or_timeout
from backend.tasks.queue import DocketQueue
from backend.tasks.repository import TaskChange, TaskRepository

log = logging.getLogger(__name__)

REFRESH_S = 5.0
"""Seconds after which the metrics are read again though nothing was published: workers come and go unannounced."""
FRESH_S = 0.9
"""Seconds the metrics are good for."""
WAITING_LIMIT = 1_000
"""Changes that may wait to be sent; of more, the oldest are dropped."""
EVENTS = ("queued", "running", "retrying", "done", "failed", "canceled")

Publish = Callable[[str, TaskChanged], None]
"""Shows an event to the pages of that owner that this process serves."""
_decoder = msgspec.json.Decoder(TaskChange)


class TaskMetrics(Collector):
    """The collector shows `/metrics` the latest task metrics; `refresh` reads them again when they are old."""

    def __init__(self, repository: TaskRepository, queue: DocketQueue) -> None:
        self._repository = repository
        self._queue = queue
        self._refreshed_at = 0.0
        self._counts: dict[str, int] = {}
        self._workers = 0

    def __repr__(self) -> str:
        return f"TaskMetrics({self._counts.get('running_now', 0)} running, {self._workers} workers)"

    async def refresh(self) -> bool:
        """Read the metrics again if they are old; return False when they are too fresh for that."""
        if time.monotonic() - self._refreshed_at < FRESH_S:
            return False
        self._refreshed_at = time.monotonic()
        with contextlib.suppress(MemoryUnavailable):
            self._counts = await self._repository.counts()
            self._workers = await self._queue.workers()
        return True

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; `prometheus_client` calls it."""
        now = GaugeMetricFamily("voice_tasks", "Background tasks now, by state.", labels=["state"])
        for state in ("queued", "running"):
            now.add_metric([state], self._counts.get(f"{state}_now", 0))
        yield now
        happened = CounterMetricFamily("voice_task_events", "What happened to background tasks.", labels=["event"])
        for event in EVENTS:
            happened.add_metric([event], self._counts.get(event, 0))
        yield happened
        yield GaugeMetricFamily("voice_task_workers", "Workers of background tasks.", value=self._workers)


@dataclass(eq=False, repr=False)
class TaskBroadcaster:
    """The broadcaster publishes the changes that `on_message` gets, until `run` is cancelled."""

    repository: TaskRepository
    metrics: TaskMetrics
    is_here: Callable[[str], bool]
    """Returns whether an owner has a live session in this process."""
    publish: Publish
    _waiting: deque[TaskChange] = field(default_factory=lambda: deque(maxlen=WAITING_LIMIT), init=False)
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __repr__(self) -> str:
        return f"TaskBroadcaster({len(self._waiting)} changes to send)"

    def on_message(self, raw: bytes | None) -> None:
        """Take a change from the pub/sub channel `EVENTS`; None: some may have been missed."""
        self._woken.set()  # the metrics have changed, whoever owns the task
        change = None if raw is None else decode_or_skip("task change", raw, _decoder.decode)
        if change is not None and self.is_here(change.owner):
            self._waiting.append(change)

    async def run(self) -> None:
        """Send the changes that wait and refresh the metrics, until cancelled."""
        refresh_in_s = 0.0
        while True:
            await event_or_timeout(self._woken, refresh_in_s)
            self._woken.clear()
            try:
                while self._waiting:
                    await self._send(self._waiting.popleft())
            except MemoryUnavailable as error:
                log.warning("a page is not shown the change of a task: %s", error)
            refresh_in_s = REFRESH_S if await self.metrics.refresh() else FRESH_S

    async def _send(self, change: TaskChange) -> None:
        task = await self.repository.find(change.task_id)
        if task is None or task.owner != change.owner:
            return
        found = TaskFindings(task.result, task.source, task.citations) if change.event == "done" else None
        event = TaskChanged(task.id, change.event, task.kind, task.instruction, change.detail, found)
        self.publish(task.owner, event)
