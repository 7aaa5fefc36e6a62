"""The broadcaster shows pages what happens to tasks: a change becomes `task` events in its owner's sessions here.

Changes come over Redis pub/sub as ids and states only; what an owner is shown is read from the record, and only when
that owner has a session here. A change missed while Redis is away is not sent again: the page asks `GET /api/tasks`
when it connects. What `/metrics` shows of tasks is counted here, too: every server shows the events of all processes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from backend.errors import MemoryUnavailable
from backend.page_events import TaskChanged, TaskFindings
from backend.runtime.faults import decode_or_skip
from backend.runtime.supervisor import event_or_timeout
from backend.tasks.repository import TaskChange, TaskRepository

log = logging.getLogger(__name__)

REFRESH_S = 5.0
"""Seconds after which the waiting tasks are counted again."""
WAITING_LIMIT = 1_000
"""Changes that may wait to be sent; of more, the oldest are dropped."""
Publish = Callable[[str, TaskChanged], None]
"""Shows an event to the pages of that owner that this process serves."""
_decoder = msgspec.json.Decoder(TaskChange)


class TaskMetrics:
    """The metrics of the tasks of all processes."""

    def __init__(self) -> None:
        self.events = Counter("voice_task_events", "What happened to background tasks.", ["event"], registry=None)
        self.waiting = Gauge("voice_tasks_waiting", "Background tasks that wait for a worker.", registry=None)

    def show_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show the metrics of tasks."""
        registry.register(self.events)
        registry.register(self.waiting)


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
        change = None if raw is None else decode_or_skip("task change", raw, _decoder.decode)
        if change is None:
            return
        self.metrics.events.labels(change.event).inc()
        if self.is_here(change.owner):
            self._waiting.append(change)
            self._woken.set()

    async def run(self) -> None:
        """Send the changes that wait and count the waiting tasks, until cancelled."""
        while True:
            self._woken.clear()
            try:
                while self._waiting:
                    await self._send(self._waiting.popleft())
                self.metrics.waiting.set(await self.repository.waiting())
            except MemoryUnavailable as error:
                log.warning("a page is not shown the change of a task: %s", error)
            await event_or_timeout(self._woken, REFRESH_S)

    async def _send(self, change: TaskChange) -> None:
        task = await self.repository.find(change.task_id)
        if task is None or task.owner != change.owner:
            return
        found = TaskFindings(task.result, task.source, task.citations) if change.event == "done" else None
        event = TaskChanged(task.id, change.event, task.kind, task.instruction, change.detail, found)
        self.publish(task.owner, event)
