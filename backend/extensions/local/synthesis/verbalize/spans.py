"""Rules that replace parts of a text with their spoken form. Pure.

Each rule is a pattern with a function. The function returns a match's spoken form, or None to leave the match to later
rules. A part of the text is replaced once: the first rule that takes it wins.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

Say = Callable[[re.Match[str]], str | None]
Rule = tuple[re.Pattern[str], Say]
"""A pattern in written text, and the function that returns the spoken form of a match."""


def rule(pattern: str, say: Say | str, flags: int = 0) -> Rule:
    """Return a rule; a string in place of a function is the spoken form."""
    return re.compile(pattern, flags), say if callable(say) else lambda _match: say


def replaced(text: str, rules: Sequence[Rule]) -> str:
    """Return `text` with each part that a rule takes in its spoken form."""
    found: list[tuple[int, int, str]] = []  # the begin, the end and the spoken form of a part
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
