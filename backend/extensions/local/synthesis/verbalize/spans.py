"""Rules that replace parts of a text, and the text they give. Pure.

Each rule is a pattern with a function that says how a match is spoken, or None to leave it to later rules. A part of
the text is replaced once: the first rule that takes it wins.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Say = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern in written text and how its matches are spoken."""

    pattern: re.Pattern[str]
    say: Say


@dataclass(frozen=True, slots=True)
class Span:
    """The written characters from `start` to `end`, spoken as `spoken`."""

    start: int
    end: int
    spoken: str


def rule(pattern: str, say: Say | str, flags: int = 0) -> Rule:
    """Make a rule; a string instead of a function is spoken as it stands."""
    return Rule(re.compile(pattern, flags), say if callable(say) else lambda _match: say)


def spans_of(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Return the spans that the rules replace in `text`, in order and without overlaps."""
    found: list[Span] = []
    starts: list[int] = []
    for each in rules:
        for match in each.pattern.finditer(text):
            place = bisect_left(starts, match.start())
            if place < len(found) and found[place].start < match.end():
                continue
            if place and found[place - 1].end > match.start():
                continue
            spoken = each.say(match) if match.end() > match.start() else None
            if spoken is not None:
                found.insert(place, Span(match.start(), match.end(), spoken))
                starts.insert(place, match.start())
    return found


def replaced(text: str, rules: Sequence[Rule]) -> str:
    """`text` with everything replaced that the rules take."""
    pieces, done = [], 0
    for span in spans_of(text, rules):
        pieces += [text[done : span.start], span.spoken]
        done = span.end
    return "".join([*pieces, text[done:]])
