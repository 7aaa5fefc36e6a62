"""Recorded spans: each becomes a `Record` when it ends, and the outermost one already when it begins.

This side of tracing runs in calls, so it only notes ids, times and lengths. Formatting and sending are done elsewhere,
from records that nobody changes any more.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from backend.observability.tracing import Fact, Kind, Outcome, Span, Words

TEXT_LIMIT = 8_000
"""Characters of one text that are kept where words are traced at all."""


class Step(NamedTuple):
    """One span on the way from the outermost to another: when it began (Unix time, ns) and its id (a UUID's int)."""

    began: int
    id: int


class TracedWords(NamedTuple):
    """The words that went into a span, or came out: how many and, where words are traced, which. None: none so far."""

    chars: int | None = None
    messages: int | None = None
    text: str | None = None
    conversation: tuple[Mapping[str, Any], ...] | None = None

    def plus(self, words: Words, *, content: bool) -> TracedWords:
        """Return these and `words`, which are only counted unless `content` is wanted."""
        chars = self.chars or 0
        if isinstance(words, str):
            text = (words if self.text is None else f"{self.text}\n{words}")[:TEXT_LIMIT] if content else None
            return self._replace(chars=chars + len(words), text=text)
        return self._replace(
            chars=chars + sum(len(message.get("content") or "") for message in words),
            messages=(self.messages or 0) + len(words),
            conversation=(*(self.conversation or ()), *words) if content else None,
        )


class Record(NamedTuple):
    """A span as known at its beginning (`ended` None) or at its end. Times are Unix times in nanoseconds."""

    session_id: str
    path: tuple[Step, ...]
    """From the outermost span to this one."""
    kind: Kind
    name: str
    ended: int | None
    outcome: Outcome | None
    tokens: int
    facts: Mapping[str, Fact]
    asked: TracedWords
    said: TracedWords
    user: str = ""
    """The hash of the user id by which the user's traces are found."""


class Trace(NamedTuple):
    """The facts that all spans of one trace share."""

    session_id: str
    keep: Callable[[Record], None]
    """Takes a record; returns at once."""
    content: bool
    """True when words are traced, and not only counted."""
    user: str = ""
    """The hash of the user id; empty when the trace is nobody's."""


class RecordedSpan(Span):
    """A span that is recorded."""

    __slots__ = (
        *("_asked", "_facts", "_kind", "_name", "_over", "_path", "_said", "_skew", "_tokens", "_trace", "_under"),
    )

    def __init__(
        self, kind: Kind, name: str, trace: Trace, under: RecordedSpan | None = None, ago_ms: float = 0
    ) -> None:
        self._kind = kind
        self._name = name
        self._trace = trace
        self._under = under
        # One wall-clock reading per trace: a clock that is set back in mid-call must not turn times inside out.
        self._skew: int = under._skew if under else time.time_ns() - time.perf_counter_ns()
        began = self.now() - round(ago_ms * 1_000_000)
        self._path: tuple[Step, ...] = (*(under._path if under else ()), Step(began, new_id(began)))
        self._facts: dict[str, Fact] = {}
        self._asked = self._said = TracedWords()
        self._tokens = 0
        self._over = False

    def __repr__(self) -> str:
        return f"RecordedSpan({self._kind} {self._name}, {'over' if self._over else 'open'})"

    def announce(self) -> None:
        """Record the beginning."""
        self._record(None, None)

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> RecordedSpan:
        return RecordedSpan(kind, name, self._trace, self, ago_ms)

    def rename(self, name: str) -> None:
        self._name = name

    def note(self, **facts: Fact) -> None:
        self._facts.update(facts)

    def asked(self, words: Words) -> None:
        self._asked = self._asked.plus(words, content=self._trace.content)

    def said(self, words: Words) -> None:
        self._said = self._said.plus(words, content=self._trace.content)

    def spent(self, tokens: int) -> None:
        span: RecordedSpan | None = self
        while span is not None:
            span._tokens += tokens
            span = span._under

    def now(self) -> int:
        return time.perf_counter_ns() + self._skew

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        if not self._over:
            self._over = True
            self._record(max(at or self.now(), self._path[-1].began), outcome)

    def _record(self, ended: int | None, outcome: Outcome | None) -> None:
        about = self._trace.session_id, self._path, self._kind, self._name
        words = self._asked, self._said
        self._trace.keep(Record(*about, ended, outcome, self._tokens, dict(self._facts), *words, self._trace.user))


def new_id(began: int) -> int:
    """Return a version 7 UUID as an int: it sorts by the moment `began` (Unix time, ns). Ids are no secrets."""
    chance = random.getrandbits(74)
    return (began // 1_000_000) << 80 | 7 << 76 | (chance >> 62) << 64 | 2 << 62 | chance & (1 << 62) - 1
