"""What `/metrics` says of reminders: what became of them in this process, and how late their delivery was begun."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

LATE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 600, 3_600)


class ReminderMetrics:
    """The counts of this process; shown once `show_in` was called."""

    def __init__(self) -> None:
        self._events = Counter(
            "voice_reminders",
            "What became of reminders: set, due, call, page, webhook, refused, canceled, given_up.",
            ["event"],
            registry=None,
        )
        self._late = Histogram(
            "voice_reminder_late_seconds",
            "From when a reminder was due until its delivery was begun.",
            buckets=LATE_BUCKETS_S,
            registry=None,
        )

    def show_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show them."""
        registry.register(self._events)
        registry.register(self._late)

    def count(self, event: str) -> None:
        """Count one of the events that `voice_reminders` names."""
        self._events.labels(event).inc()

    def came_due(self, late_s: float) -> None:
        """Count a reminder whose delivery begins, `late_s` seconds after it was due."""
        self.count("due")
        self._late.observe(max(0.0, late_s))
