"""What callers are expected to say: how much likelier a token is where sentences like these are said. Pure.

The sentences are those that the Thinkers give of themselves, for instance, a plugin's among them. Which token follows
which one, two or three in them is counted, and interpolated as Witten and Bell do. A token that the sentences make
likely gets a bonus, no other loses anything: so a word of theirs wins over another that sounds nearly the same, and
what nobody expects is recognized as without them. What begins with a capital within a sentence is a name, of which
those in the examples are no likelier than others.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from local_responder.recognition.tokens import Tokens

START, END = 1, 2
"""The tokens before the first and after the last."""
ORDER = 4
"""Tokens in the longest run that is counted."""
WEIGHT = 0.3
"""How much the sentences count, the sound counting one."""
LEAST = -9.0
"""The logarithm of a token's probability in the sentences from which it gets a bonus."""
UNKNOWN = 1 / 32_000
MOST_REMEMBERED = 50_000
_NAME = re.compile(r"(?!I\b)[A-Z]\w*[a-z]")


class Expected:
    """The runs of tokens in some sentences."""

    def __init__(self, sentences: Sequence[str], tokens: Tokens) -> None:
        self._following: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for sentence in sentences:
            self._learn(list(_marked(sentence, tokens)))
        self._bonus = lru_cache(MOST_REMEMBERED)(self._computed)

    def __repr__(self) -> str:
        return f"Expected({len(self._following)} beginnings)"

    def bonus(self, before: Sequence[int], token: int) -> float:
        """Return what a token's log-probability gains after others; never negative, and at most 2.7."""
        return self._bonus((START, *before)[1 - ORDER :], token) if self._following else 0.0

    def _learn(self, marked: Sequence[tuple[int, bool]]) -> None:
        for at in range(1, len(marked)):
            for length in range(min(ORDER - 1, at) + 1):
                run = marked[at - length : at + 1]
                if any(is_name for _, is_name in run):
                    break
                *before, (token, _) = run
                self._following[tuple(each for each, _ in before)][token] += 1

    def _computed(self, before: tuple[int, ...], token: int) -> float:
        probability = UNKNOWN
        for length in range(len(before) + 1):
            following = self._following.get(before[len(before) - length :])
            if following is None:
                break
            kinds = len(following)
            probability = (following[token] + kinds * probability) / (following.total() + kinds)
        return WEIGHT * max(0.0, math.log(probability) - LEAST)


def _marked(sentence: str, tokens: Tokens) -> Iterator[tuple[int, bool]]:
    """Yield the tokens of a sentence with its start and end, and whether each belongs to a name."""
    yield START, False
    for at, word in enumerate(sentence.replace("’", "'").split()):
        is_name = at > 0 and _NAME.match(word) is not None
        yield from ((token, is_name) for token in tokens.of_word(word))
    yield END, False
