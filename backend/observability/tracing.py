"""A trace consists of spans, from a call down to each request to a model and each tool call.

    session ─► turn ─► thinker ─► routing ─► thinking ─┬─► model
                                                       └─► tool

The routing has the cache and the deadline, and the thinking is the Thinker's own work. An answer from the cache has no
thinking.

Typed turns, background tasks, tasks of the reasoner, summaries and digests belong to no call, and have their own traces
(see `rooted`).

A span opens under another one, takes facts, and ends once. Nothing here waits or fails: traced code need not know
whether traces are kept. Of a caller's words (`asked`, `said`) only the length leaves this process, unless the operator
has set otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Literal

Kind = Literal[
    "session", "turn", "summary", "digest", "task", "reasoning", "thinker", "routing", "thinking", "model", "tool"
]
Outcome = Literal["complete", "failed", "stale", "cancelled"]
Fact = str | int | float | bool | None
"""A label or a figure; never a caller's words."""
Words = str | Sequence[Mapping[str, Any]]
"""A text, or the messages that a chat model is sent."""


class Span:
    """A piece of work in the tree of a trace. This base class records nothing."""

    __slots__ = ()

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> Span:
        """Open a span within this one that began `ago_ms` milliseconds ago."""
        return self

    def rename(self, name: str) -> None:
        """Replace the name."""

    def note(self, **facts: Fact) -> None:
        """Add facts. A later fact replaces an earlier one with the same name."""

    def asked(self, words: Words) -> None:
        """Add the words of the input."""

    def said(self, words: Words) -> None:
        """Add the words of the output."""

    def spent(self, tokens: int) -> None:
        """Add used tokens, which also count for every span around this one."""

    def answered(self, words: Words | None, *, tokens: int = 0, **facts: Fact) -> None:
        """Add the words of the output (None: they are private), the used tokens, and facts."""
        self.note(**facts)
        if words is not None:
            self.said(words)
        self.spent(tokens)

    def now(self) -> int:
        """Return this moment on the trace's own clock, for `end`."""
        return 0

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        """End the span, now or at the moment `at`. Only the first end counts."""


NO_SPAN = Span()


class Tracer:
    """The destination of traces. This base class keeps nothing: tracing is off."""

    def session(self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = "") -> Span:
        """Open the outermost span of a new trace: a call's session, or work that belongs to no call.

        `session_id` is the call's or the conversation's; traces with the same one are shown together. `user` is the id
        of the user that the trace belongs to, so that it can be erased with their data.
        """
        return NO_SPAN


NO_TRACER = Tracer()

_current: ContextVar[Span] = ContextVar("current_span", default=NO_SPAN)


def current_span() -> Span:
    """Return the current span of this asyncio task. Tasks that begin inside `within` inherit it."""
    return _current.get()


@contextmanager
def within(span: Span) -> Iterator[Span]:
    """Make `span` the `current_span` within the block, without ending it."""
    token = _current.set(span)
    try:
        yield span
    finally:
        _current.reset(token)


def rooted(tracer: Tracer, kind: Kind, name: str, session_id: str, *, user: str = "") -> AbstractContextManager[Span]:
    """Trace the block by itself. The trace ends with the block, unless it has ended before."""
    return _ended_with(tracer.session(session_id, kind, name, user=user))


def opened(kind: Kind, name: str) -> AbstractContextManager[Span]:
    """Trace the block as a span within the current one, which ends with the block unless it has ended before."""
    return _ended_with(current_span().open(kind, name))


@contextmanager
def step(kind: Kind, name: str, words: Words | None) -> Iterator[Span]:
    """Trace a block as a span within the current one, which stays the current one.

    `words` are its input; None: they are private. The span ends with the block, unless it has ended before.
    """
    span = current_span().open(kind, name)
    if words is not None:
        span.asked(words)
    with _ending(span):
        yield span


def opened_or_rooted(
    tracer: Tracer, kind: Kind, name: str, session_id: str, *, user: str = ""
) -> AbstractContextManager[Span]:
    """Trace the block as a span within the current one, or by itself if there is none."""
    if current_span() is NO_SPAN:
        return rooted(tracer, kind, name, session_id, user=user)
    return opened(kind, name)


@contextmanager
def _ended_with(span: Span) -> Iterator[Span]:
    with within(span), _ending(span):
        yield span


@contextmanager
def _ending(span: Span) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        span.end("cancelled")
        raise
    except BaseException:
        span.end("failed")
        raise
    span.end()
