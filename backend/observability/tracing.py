"""What a trace is made of: spans within spans, from a call down to each request to a model and each tool.

    session ─► turn ─► thinker ─┬─► model
                                └─► tool

What belongs to no call is a trace of its own: a typed turn, a summary, a digest. See `rooted`.

A span is opened under another, told facts meanwhile, and ended once. Nothing here waits for anything, and nothing
here fails: whoever is traced need not know whether anybody is watching. What a span is told in a caller's own
words (`asked`, `said`) leaves this process as a length, unless the operator has asked for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, Literal, Protocol

Kind = Literal["session", "turn", "summary", "digest", "thinker", "model", "tool"]
Outcome = Literal["complete", "failed", "stale", "cancelled"]
Fact = str | int | float | bool | None
"""A label or a figure; never a caller's words."""
Words = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of a conversation as a chat model is sent them."""


class Span(Protocol):
    """Something that takes time, in a tree of such."""

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> Span:
        """A span within this one, begun `ago_ms` milliseconds ago."""
        ...

    def rename(self, name: str) -> None:
        """Its name, once it is known better."""
        ...

    def note(self, **facts: Fact) -> None:
        """Add facts; a later one of the same name replaces the earlier."""
        ...

    def asked(self, words: Words) -> None:
        """What went in. Told more than once, it adds up."""
        ...

    def said(self, words: Words) -> None:
        """What came out; likewise."""
        ...

    def spent(self, tokens: int) -> None:
        """Tokens used in here: they count for every span around this one, too."""
        ...

    def now(self) -> int:
        """This moment on the trace's own clock, for `end`."""
        ...

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        """It is over, or was at the moment `at`. Only the first end counts."""
        ...


class Tracer(Protocol):
    """Where traces go."""

    def session(self, session_id: str, kind: Kind = "session", name: str = "session") -> Span:
        """The outermost span of a new trace: a call's session, or something that belongs to no call.

        Traces of one `session_id` are shown together: it is the call's, or the conversation's.
        """
        ...

    async def close(self) -> None:
        """Hand over what can be handed over in a moment; the rest is given up."""
        ...


class NoSpan:
    """Nobody is watching."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NoSpan()"

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> NoSpan:
        """Itself."""
        return self

    def rename(self, name: str) -> None:
        """Nothing."""

    def note(self, **facts: Fact) -> None:
        """Nothing."""

    def asked(self, words: Words) -> None:
        """Nothing."""

    def said(self, words: Words) -> None:
        """Nothing."""

    def spent(self, tokens: int) -> None:
        """Nothing."""

    def now(self) -> int:
        """No time at all."""
        return 0

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        """Nothing."""


NO_SPAN = NoSpan()


class NoTracer:
    """Tracing is off."""

    def __repr__(self) -> str:
        return "NoTracer()"

    def session(self, session_id: str, kind: Kind = "session", name: str = "session") -> NoSpan:
        """The span that is none."""
        return NO_SPAN

    async def close(self) -> None:
        """Nothing."""


NO_TRACER = NoTracer()

_current: ContextVar[Span] = ContextVar("current_span", default=NO_SPAN)


def current_span() -> Span:
    """The span this task works for; tasks begun inside `within` inherit it."""
    return _current.get()


class within:  # noqa: N801 - it reads as a word: `with within(span):`
    """A block whose `current_span` is `span`. It does not end it."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token: Token[Span] | None = None

    def __enter__(self) -> Span:
        self._token = _current.set(self._span)
        return self._span

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _current.reset(self._token)


@contextmanager
def rooted(tracer: Tracer, kind: Kind, name: str, session_id: str) -> Iterator[Span]:
    """A block that is a trace of its own, and ends it as the block ends, unless the block has done so itself."""
    with _ended_with(tracer.session(session_id, kind, name)) as span:
        yield span


@contextmanager
def opened(kind: Kind, name: str) -> Iterator[Span]:
    """A block that is a span within the current one; likewise."""
    with _ended_with(current_span().open(kind, name)) as span:
        yield span


@contextmanager
def _ended_with(span: Span) -> Iterator[Span]:
    with within(span):
        try:
            yield span
        except asyncio.CancelledError:
            span.end("cancelled")
            raise
        except BaseException:
            span.end("failed")
            raise
        span.end()
