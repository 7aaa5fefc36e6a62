"""What `/metrics` says of steps: how many ran, to what end, and how long they took. Labels are names of steps only."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram

from backend.middleware.run import Outcome

BUCKETS_S = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)


class StepCounts:
    """Counts outcomes; shown once `show_in` has been told where."""

    def __init__(self) -> None:
        self._outcomes = Counter(
            "voice_pipeline_steps", "Steps run around turns, by name and outcome.", ["step", "outcome"], registry=None
        )
        self._seconds = Histogram(
            "voice_pipeline_step_seconds", "How long steps took.", ["step"], buckets=BUCKETS_S, registry=None
        )
        self._lost = Counter(
            "voice_pipeline_turns_dropped", "Turns whose post-steps were given up: the queue was full.", registry=None
        )
        self.lost = 0

    def __repr__(self) -> str:
        return f"StepCounts({self.lost} turns lost)"

    def show_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show them."""
        for metric in (self._outcomes, self._seconds, self._lost):
            registry.register(metric)

    def ran(self, outcomes: Iterable[Outcome]) -> None:
        """These steps have run."""
        for outcome in outcomes:
            self._outcomes.labels(outcome.name, outcome.kind).inc()
            self._seconds.labels(outcome.name).observe(outcome.elapsed_s)

    def dropped(self) -> None:
        """A turn's post-steps will not run."""
        self.lost += 1
        self._lost.inc()
