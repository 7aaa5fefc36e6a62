"""The metrics of tools and text models: their durations, usage and failures."""

import logging

from prometheus_client import CollectorRegistry, Counter, Histogram

log = logging.getLogger(__name__)

SECONDS = (0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)


class WorkMetrics:
    """Counts tool calls and model requests, for the registry that `register_in` names."""

    def __init__(self) -> None:
        self._tools = Histogram(
            "voice_tool_seconds",
            "How long tool calls took, by tool and outcome (ok, or the kind of failure).",
            ["tool", "outcome"],
            buckets=SECONDS,
            registry=None,
        )
        self._models = Histogram(
            "voice_model_seconds", "How long answers of text models took.", ["model"], buckets=SECONDS, registry=None
        )
        self._tokens = Counter("voice_model_tokens", "Tokens of text models.", ["model", "direction"], registry=None)
        self._failures = Counter(
            "voice_model_failures", "Failed requests to text models, by reason.", ["model", "reason"], registry=None
        )

    def __repr__(self) -> str:
        return "WorkMetrics()"

    def register_in(self, registry: CollectorRegistry) -> None:
        """Show the metrics in `registry`, and so in `/metrics`."""
        for metric in (self._tools, self._models, self._tokens, self._failures):
            registry.register(metric)

    def tool_called(self, tool: str, error: str | None, seconds: float) -> None:
        """Count a call of an existing tool; `error` is the kind of failure."""
        self._tools.labels(tool, error or "ok").observe(seconds)
        if error:
            log.info("tool %s: %s after %.0f ms", tool, error, seconds * 1000)

    def model_answered(self, model: str, tokens_in: int, tokens_out: int, seconds: float) -> None:
        """Count an answer of a text model."""
        self._models.labels(model).observe(seconds)
        self._tokens.labels(model, "in").inc(tokens_in)
        self._tokens.labels(model, "out").inc(tokens_out)

    def model_failed(self, model: str, reason: str, seconds: float) -> None:
        """Count a failed request to a text model; `reason` is one of a few fixed words."""
        self._failures.labels(model, reason).inc()
        log.info("model %s: %s after %.0f ms", model, reason, seconds * 1000)
