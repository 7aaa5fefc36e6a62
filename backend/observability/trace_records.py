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
from backend.runtime.json_objects import Json

TEXT_LIMIT = 8_000
"""Characters of one text that are kept where words are traced at all."""


class Step(NamedTuple):
    """One span on the way from the outermost to another: when it began (Unix time, ns) and its id (a UUID's int)."""

    began: int
    id: int


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
    asked: Mapping[str, Any]
    """`chars` and, of messages, `messages`: how many. With words traced, also `text` or `conversation`."""
    said: Mapping[str, Any]


Keep = Callable[[Record], None]
"""Takes a record; returns at once."""


class RecordedSpan(Span):
    """A span that is recorded."""

    __slots__ = (
        *("_asked", "_content", "_facts", "_keep", "_kind", "_name", "_over", "_path", "_said", "_session_id"),
        *("_skew", "_tokens", "_under"),
    )

    def __init__(
        self,
        kind: Kind,
        name: str,
        *,
        session_id: str,
        keep: Keep,
        content: bool,
        under: RecordedSpan | None = None,
        ago_ms: float = 0,
    ) -> None:
        self._kind = kind
        self._name = name
        self._session_id = session_id
        self._keep = keep
        self._content = content
        self._under = under
        # One wall-clock reading per trace: a clock that is set back in mid-call must not turn times inside out.
        self._skew: int = under._skew if under else time.time_ns() - time.perf_counter_ns()
        began = self.now() - round(ago_ms * 1_000_000)
        self._path: tuple[Step, ...] = (*(under._path if under else ()), Step(began, new_id(began)))
        self._facts: dict[str, Fact] = {}
        self._asked: Json = {}
        self._said: Json = {}
        self._tokens = 0
        self._over = False

    def __repr__(self) -> str:
        return f"RecordedSpan({self._kind} {self._name}, {'over' if self._over else 'open'})"

    def announce(self) -> None:
        """Record the beginning."""
        self._record(None, None)

    def open(self, kind: Kind, name: str, *, ago_ms: float = 0) -> RecordedSpan:
        return RecordedSpan(
            kind,
            name,
            session_id=self._session_id,
            keep=self._keep,
            content=self._content,
            under=self,
            ago_ms=ago_ms,
        )

    def rename(self, name: str) -> None:
        self._name = name

    def note(self, **facts: Fact) -> None:
        """Add facts; a later one of the same name replaces the earlier."""
        self._facts.update(facts)

    def asked(self, words: Words) -> None:
        """Add words that went in."""
        _add(self._asked, words, content=self._content)

    def said(self, words: Words) -> None:
        """Add words that came out."""
        _add(self._said, words, content=self._content)

    def spent(self, tokens: int) -> None:
        span: RecordedSpan | None = self
        while span is not None:
            span._tokens += tokens
            span = span._under

    def now(self) -> int:
        return time.perf_counter_ns() + self._skew

    def end(self, outcome: Outcome = "complete", *, at: int | None = None) -> None:
        """End the span, now or at the moment `at`; only the first end counts."""
        if not self._over:
            self._over = True
            self._record(max(at or self.now(), self._path[-1].began), outcome)

    def _record(self, ended: int | None, outcome: Outcome | None) -> None:
        words = dict(self._asked), dict(self._said)
        about = self._session_id, self._path, self._kind, self._name
        self._keep(Record(*about, ended, outcome, self._tokens, dict(self._facts), *words))


def new_id(began: int) -> int:
    """A version 7 UUID as an int: ids sort by the moment `began` (Unix time, ns). They are names, not secrets."""
    chance = random.getrandbits(74)
    return (began // 1_000_000) << 80 | 7 << 76 | (chance >> 62) << 64 | 2 << 62 | chance & (1 << 62) - 1


def _add(into: Json, words: Words, *, content: bool) -> None:
    """Count the words, and keep them if that is wanted."""
    if isinstance(words, str):
        into["chars"] = into.get("chars", 0) + len(words)
        if content:
            into["text"] = f"{into['text']}\n{words}"[:TEXT_LIMIT] if "text" in into else words[:TEXT_LIMIT]
        return
    into["messages"] = into.get("messages", 0) + len(words)
    into["chars"] = into.get("chars", 0) + sum(len(message.get("content") or "") for message in words)
    if content:
        into["conversation"] = [*into.get("conversation", ()), *words]
