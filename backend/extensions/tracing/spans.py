"""The tracer that makes OpenTelemetry spans; `destinations.py` decides where they go.

This runs in calls, so a span notes facts and lengths, and hands them over once, when it ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from opentelemetry import trace as trace_api
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider, set_span_in_context
from opentelemetry.util.types import AttributeValue

from backend.extensions.tracing.attributes import SpanWords, closing, opening, span_name
from backend.observability.security_log import hashed
from backend.observability.tracing import Fact, Kind, Outcome, Span, Tracer, Words

NAME = "responder-thinker"

Further = Callable[[Mapping[str, AttributeValue]], Mapping[str, AttributeValue]]
"""Returns further attributes of a span that has ended with these."""


class OtelTracer(Tracer):
    """Opens spans of `provider`; it traces the lengths of words and, if `content` is true, the words."""

    def __init__(self, provider: TracerProvider, *, content: bool = False, further: Further | None = None) -> None:
        self._tracer = provider.get_tracer(NAME)
        self._content = content
        self._further = further

    def __repr__(self) -> str:
        return f"OtelTracer({'with' if self._content else 'without'} words)"

    def session(self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = "") -> OtelSpan:
        return OtelSpan(kind, name, _Trace(self._tracer, session_id, self._content, hashed(user), self._further))


class _Trace(NamedTuple):
    """The fields that all spans of one trace share."""

    tracer: trace_api.Tracer
    session_id: str
    content: bool
    user: str
    """The hash of the user id; empty when the trace has no user."""
    further: Further | None


class OtelSpan(Span):
    """A span of OpenTelemetry's, with the facts and words it has taken so far."""

    __slots__ = (
        *("_asked", "_began", "_facts", "_kind", "_name", "_over", "_said", "_skew", "_span", "_tokens", "_trace"),
        "_under",
    )

    def __init__(self, kind: Kind, name: str, trace: _Trace, under: OtelSpan | None = None, ago_ms: float = 0) -> None:
        self._kind = kind
        self._name = name
        self._trace = trace
        self._under = under
        # One wall-clock reading per trace: a clock that is set back in mid-call must not turn times inside out.
        self._skew: int = under._skew if under else time.time_ns() - time.perf_counter_ns()
        self._began = self.now() - round(ago_ms * 1_000_000)
        self._facts: dict[str, Fact] = {}
        self._asked, self._said = SpanWords(trace.content), SpanWords(trace.content)
        self._tokens = 0
        self._over = False
        self._span: trace_api.Span = trace.tracer.start_span(
            span_name(kind, name),
            set_span_in_context(under._span, Context()) if under else Context(),
            SpanKind.CLIENT if kind == "model" else SpanKind.INTERNAL,
            opening(kind, trace.session_id, trace.user),
            start_time=self._began,
        )

    def __repr__(self) -> str:
        return f"OtelSpan({self._kind} {self._name}, {'over' if self._over else 'open'})"

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> OtelSpan:
        return OtelSpan(kind, name, self._trace, self, ago_ms)

    def rename(self, name: str) -> None:
        self._name = name

    def note(self, **facts: Fact) -> None:
        self._facts.update(facts)

    def asked(self, words: Words) -> None:
        self._asked.add(words)

    def said(self, words: Words) -> None:
        self._said.add(words)

    def spent(self, tokens: int) -> None:
        span: OtelSpan | None = self
        while span is not None:
            span._tokens += tokens
            span = span._under

    def now(self) -> int:
        return time.perf_counter_ns() + self._skew

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        if self._over:
            return
        self._over = True
        span = self._span
        span.update_name(span_name(self._kind, self._name))
        attributes = closing(self._kind, self._name, outcome, self._tokens, self._facts, self._asked, self._said)
        span.set_attributes(attributes)
        if self._trace.further:
            known = opening(self._kind, self._trace.session_id, self._trace.user)
            span.set_attributes(self._trace.further({**known, **attributes}))
        if outcome == "failed":
            span.set_status(Status(StatusCode.ERROR))
        span.end(max(at or self.now(), self._began))
