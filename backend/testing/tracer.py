"""Traces kept in a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.types import AttributeValue

from backend.observability.otel_spans import OtelTracer


@dataclass(frozen=True, slots=True)
class TracedSpan:
    """A span that has ended, as it is exported. Times are Unix times in nanoseconds."""

    name: str
    id: int
    parent: int | None
    trace: int
    began: int
    ended: int
    failed: bool
    """True when its status is an error."""
    attributes: Mapping[str, AttributeValue]

    @property
    def kind(self) -> str:
        """Return the kind of work."""
        return str(self.attributes["voice.kind"])

    @property
    def outcome(self) -> str:
        """Return the outcome of the work."""
        return str(self.attributes["voice.outcome"])

    @property
    def tokens(self) -> int:
        """Return the tokens used by it and all within it."""
        tokens = self.attributes["voice.tokens"]
        assert isinstance(tokens, int)
        return tokens

    @property
    def session_id(self) -> str:
        """Return the id of the session or conversation."""
        return str(self.attributes["session.id"])

    @property
    def facts(self) -> dict[str, AttributeValue]:
        """Return its attributes; those of this server without their prefix."""
        return {name.removeprefix("voice."): value for name, value in self.attributes.items()}


class FakeTracer(OtelTracer):
    """A tracer that keeps its spans, in the order they ended."""

    def __init__(self, *, content: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        super().__init__(provider, content=content)

    def __repr__(self) -> str:
        return f"FakeTracer({len(self.spans)} spans)"

    @property
    def spans(self) -> list[TracedSpan]:
        """Return all spans that have ended."""
        return [_traced(span) for span in self._exporter.get_finished_spans()]

    @property
    def text(self) -> str:
        """Return everything that would be exported, to be searched for what must not be there."""
        return repr(self.spans)

    def ended(self, kind: str, name: str | None = None) -> list[TracedSpan]:
        """Return the spans of a kind (and name) that have ended."""
        return [span for span in self.spans if span.kind == kind and name in (None, span.name)]

    def under(self, parent: TracedSpan) -> list[TracedSpan]:
        """Return the ended spans directly within another, in the order they began."""
        return sorted((span for span in self.spans if span.parent == parent.id), key=lambda span: span.began)


def _traced(span: ReadableSpan) -> TracedSpan:
    assert span.context and span.start_time and span.end_time
    return TracedSpan(
        span.name,
        span.context.span_id,
        span.parent.span_id if span.parent else None,
        span.context.trace_id,
        span.start_time,
        span.end_time,
        not span.status.is_ok,
        dict(span.attributes or {}),
    )
