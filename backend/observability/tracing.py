"""The spans a trace is made of, from a call down to each request to a model and each tool.

    session ─► turn ─► thinker ─┬─► model
                                └─► tool

A typed turn, a background task, a task of the reasoner, a summary and a digest belong to no call and are traces of
their own. See `rooted`.

A span is opened under another, takes facts meanwhile, and is ended once. Nothing here waits, and nothing here fails:
traced code need not know whether traces are kept. A caller's own words (`asked`, `said`) leave this process
as a length, unless the operator has asked for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Literal

Kind = Literal["session", "turn", "summary", "digest", "task", "reasoning", "thinker", "model", "tool"]
Outcome = Literal["complete", "failed", "stale", "cancelled"]
Fact = str | int | float | bool | None
"""A label or a figure; never a caller's words."""
Words = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of a conversation as a chat model is sent them."""


class Span:
    """A piece of work that takes time, in a tree of such pieces. This class is the span that is not recorded."""

    __slots__ = ()

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> Span:
        """Open a span within this one, begun `ago_ms` milliseconds ago."""
        return self

    def rename(self, name: str) -> None:
        """Replace the name, once it is known better."""

    def note(self, **facts: Fact) -> None:
        """Add facts; a later one of the same name replaces the earlier."""

    def asked(self, words: Words) -> None:
        """Add words that went in."""

    def said(self, words: Words) -> None:
        """Add words that came out."""

    def spent(self, tokens: int) -> None:
        """Add tokens that were used here; they count for every span around this one, too."""

    def answered(self, words: Words | None, *, tokens: int = 0, **facts: Fact) -> None:
        """Add the words that came out (None: they are private), the tokens that were used, and facts."""
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
    """The destination of traces. This class is the one while tracing is off: it keeps nothing."""

    def session(self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = "") -> Span:
        """Open the outermost span of a new trace: a call's session, or something that belongs to no call.

        Traces of one `session_id` are shown together: it is the call's, or the conversation's. `user` is the id of the
        user that the trace belongs to, so that it can be erased with their data.
        """
        return NO_SPAN


NO_TRACER = Tracer()

_current: ContextVar[Span] = ContextVar("current_span", default=NO_SPAN)


def current_span() -> Span:
    """Return the span this task works for; tasks begun inside `within` inherit it."""
    return _current.get()


@contextmanager
def within(span: Span) -> Iterator[Span]:
    """Make `span` the `current_span` of a block, without ending it."""
    token = _current.set(span)
    try:
        yield span
    finally:
        _current.reset(token)


def rooted(tracer: Tracer, kind: Kind, name: str, session_id: str, *, user: str = "") -> AbstractContextManager[Span]:
    """Trace a block by itself; the trace ends with the block, unless the block has ended it."""
    return _ended_with(tracer.session(session_id, kind, name, user=user))


def opened(kind: Kind, name: str) -> AbstractContextManager[Span]:
    """Trace a block as a span within the current one; the span ends with the block, unless the block has ended it."""
    return _ended_with(current_span().open(kind, name))


@contextmanager
def step(kind: Kind, name: str, words: Words | None) -> Iterator[Span]:
    """Trace a block as a span within the current one, which stays the current one.

    `words` went in; None: they are private. The span ends with the block, unless the block has ended it.
    """
    span = current_span().open(kind, name)
    if words is not None:
        span.asked(words)
    with _ending(span):
        yield span


def opened_or_rooted(
    tracer: Tracer, kind: Kind, name: str, session_id: str, *, user: str = ""
) -> AbstractContextManager[Span]:
    """Trace a block as a span within the current one, or by itself where there is none."""
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
