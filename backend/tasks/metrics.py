"""The metrics of background tasks cover all processes: every server counts every change."""

from typing import get_args

from prometheus_client import CollectorRegistry, Counter

from backend.tasks.task import TaskEvent


class TaskMetrics:
    """Counts the changes that the pub/sub channel `EVENTS` names."""

    def __init__(self) -> None:
        self._events = Counter("voice_task_events", "What happened to background tasks.", ["event"], registry=None)

    def register_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show the metrics of tasks."""
        registry.register(self._events)

    def on_message(self, raw: bytes | None) -> None:
        """Count a change; None: some may have been missed."""
        if raw is not None and (event := raw.decode(errors="replace")) in get_args(TaskEvent):
            self._events.labels(event).inc()
