"""A tracer that keeps its spans in a list."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from backend.observability.tracing import Fact, Kind, Outcome, Span, Tracer, Words


@dataclass(eq=False)
class TracedSpan(Span):
    """A span with everything that it was given. Times are those of `time.perf_counter_ns`."""

    kind: Kind
    name: str
    session_id: str
    user: str
    began: int
    parent: TracedSpan | None = field(default=None, repr=False)
    ended: int = 0
    outcome: Outcome | None = None
    """The outcome of the span; None until it has ended."""
    tokens: int = 0
    """The tokens used by the span and all spans within it."""
    facts: dict[str, Fact] = field(default_factory=dict)
    words_in: list[Words] = field(default_factory=list)
    words_out: list[Words] = field(default_factory=list)
    tracer: FakeTracer = field(kw_only=True, repr=False)

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> TracedSpan:
        began = self.now() - round(ago_ms * 1_000_000)
        return TracedSpan(kind, name, self.session_id, self.user, began, self, tracer=self.tracer)

    def rename(self, name: str) -> None:
        self.name = name

    def note(self, **facts: Fact) -> None:
        self.facts |= facts

    def asked(self, words: Words) -> None:
        self.words_in.append(words)

    def said(self, words: Words) -> None:
        self.words_out.append(words)

    def spent(self, tokens: int) -> None:
        self.tokens += tokens
        if self.parent:
            self.parent.spent(tokens)

    def now(self) -> int:
        return time.perf_counter_ns()

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        if self.outcome is None:
            self.outcome, self.ended = outcome, at or self.now()
            self.tracer.spans.append(self)


class FakeTracer(Tracer):
    """A tracer that keeps its spans, in the order in which they ended."""

    def __init__(self) -> None:
        self.spans: list[TracedSpan] = []

    def session(self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = "") -> TracedSpan:
        return TracedSpan(kind, name, session_id, user, time.perf_counter_ns(), tracer=self)

    @property
    def text(self) -> str:
        """Return everything that was traced, with all words, so that a test can search for what must not be there."""
        return repr(self.spans)

    def ended(self, kind: Kind) -> list[TracedSpan]:
        """Return the spans of a kind that have ended."""
        return [span for span in self.spans if span.kind == kind]

    def under(self, parent: TracedSpan) -> list[TracedSpan]:
        """Return the ended spans directly within another, in the order they began."""
        return sorted((span for span in self.spans if span.parent is parent), key=lambda span: span.began)
