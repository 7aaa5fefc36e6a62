"""Rules that replace parts of a text, and the text they give. Pure.

Each rule is a pattern with a function that says how a match is spoken, or None to leave it to later rules. A part of
the text is replaced once: the first rule that takes it wins.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

Say = Callable[[re.Match[str]], str | None]
Rule = tuple[re.Pattern[str], Say]
"""A pattern in written text, and how its matches are spoken."""


def rule(pattern: str, say: Say | str, flags: int = 0) -> Rule:
    """Make a rule; a string instead of a function is spoken as it stands."""
    return re.compile(pattern, flags), say if callable(say) else lambda _match: say


def replaced(text: str, rules: Sequence[Rule]) -> str:
    """Return `text` with everything replaced that the rules take."""
    found: list[tuple[int, int, str]] = []  # where a part begins and ends, and how it is spoken
    for pattern, say in rules:
        for match in pattern.finditer(text):
            place = bisect_left(found, (match.start(),))
            if place < len(found) and found[place][0] < match.end():
                continue
            if place and found[place - 1][1] > match.start():
                continue
            spoken = say(match) if match.end() > match.start() else None
            if spoken is not None:
                found.insert(place, (match.start(), match.end(), spoken))
    pieces, done = [], 0
    for start, end, spoken in found:
        pieces += [text[done:start], spoken]
        done = end
    return "".join([*pieces, text[done:]])
