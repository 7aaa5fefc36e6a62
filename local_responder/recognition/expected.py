"""What callers are expected to say: how much likelier a token is where sentences like these are said. Pure.

The sentences are those that the Thinkers give of themselves, for instance, a plugin's among them, and the names those
that tools know. Which token follows which one, two or three in them is counted, and interpolated as Witten and Bell do.
A word counts by all its tokens at once: one that is likely by these counts gains, one that is not loses a little, both
within bounds. So a word of theirs wins over another that sounds nearly the same, and what nobody expects is still
recognized. The end neither gains nor loses.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from local_responder.recognition.tokens import Tokens

START, END = 1, 2
"""The tokens before the first and after the last."""
NAME = "_"
"""Stands for any name in a sentence."""
ANY_NAME = -1
"""The same among tokens."""
ORDER = 4
"""Tokens in the longest run that is counted."""
WEIGHT = 0.35
"""How much expectation counts, the sound counting one."""
LEAST, NEUTRAL = -9.0, -7.0
"""Logarithms of probabilities: less counts as this, and a word that has this much neither gains nor loses."""
UNKNOWN = 1 / 32_000
MOST_REMEMBERED = 50_000


class Expectation(msgspec.Struct, array_like=True, frozen=True):
    """What is likely to be said."""

    sentences: tuple[str, ...] = ()
    """With `NAME` for each name in them: one that stands in an example is no likelier than another."""
    names: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    """What most utterances that are brief consist of, where that is known."""


class Expected:
    """The runs of tokens in an expectation."""

    def __init__(self, expectation: Expectation, tokens: Tokens, weight: float = WEIGHT) -> None:
        self._weight = weight
        self._following: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for sentence in expectation.sentences:
            self._learn([START, *_tokens_of(sentence, tokens)])
        for name in expectation.names:
            self._learn(list(_tokens_of(name, tokens)))
        self._first = Counter(next(_tokens_of(name, tokens)) for name in expectation.names if name.split())
        self._likelihood = lru_cache(MOST_REMEMBERED)(self._computed)
        self._begins = tokens.begins

    def __repr__(self) -> str:
        return f"Expected({len(self._following)} beginnings)"

    def worth(self, before: Sequence[int], word: float, token: int) -> tuple[float, float]:
        """Return what a token adds to a path after others, and the log-probability of the word it belongs to so far.

        `word` is that of the word that the tokens before end with.
        """
        if token == END or not self._following:
            return 0.0, 0.0
        likelihood = self._likelihood((START, *before)[1 - ORDER :], token)
        if self._begins[token]:
            return self._worth(likelihood), likelihood
        return self._worth(word + likelihood) - self._worth(word), word + likelihood

    def _worth(self, log_probability: float) -> float:
        return self._weight * (max(LEAST, log_probability) - NEUTRAL)

    def _learn(self, run: Sequence[int]) -> None:
        for at in range(run[0] == START, len(run)):
            for length in range(min(ORDER - 1, at) + 1):
                before = tuple(run[at - length : at])
                if ANY_NAME in before:
                    break
                self._following[before][run[at]] += 1

    def _computed(self, before: tuple[int, ...], token: int) -> float:
        probability = UNKNOWN
        as_name = self._first[token] / max(1, self._first.total())
        for length in range(len(before) + 1):
            following = self._following.get(before[len(before) - length :])
            if following is None:
                break
            kinds, count = len(following), following[token] + following[ANY_NAME] * as_name
            probability = (count + kinds * probability) / (following.total() + kinds)
        return math.log(probability)


def _tokens_of(sentence: str, tokens: Tokens) -> Iterator[int]:
    for word in sentence.replace("’", "'").split():
        if word.startswith(NAME):
            yield ANY_NAME
        else:
            yield from tokens.of_word(word)
