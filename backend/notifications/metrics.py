"""What `/metrics` says of reminders: what became of them in this process, and how late they were begun."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

LATE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 600, 3_600)


class ReminderFigures:
    """Counts; shown once `show_in` has been told where."""

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

    def was_set(self) -> None:
        """A user has a new one."""
        self._events.labels("set").inc()

    def came_due(self, late_s: float) -> None:
        """Its delivery begins."""
        self._events.labels("due").inc()
        self._late.observe(max(0.0, late_s))

    def delivered(self, way: str) -> None:
        """By call, page or webhook."""
        self._events.labels(way).inc()

    def refused(self) -> None:
        """The webhook did not take it."""
        self._events.labels("refused").inc()

    def canceled(self) -> None:
        """Its user does not want it any more."""
        self._events.labels("canceled").inc()

    def given_up(self) -> None:
        """Nobody could be told of it, for too long."""
        self._events.labels("given_up").inc()
