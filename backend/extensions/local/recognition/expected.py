"""The expectation that a brief utterance is one of few phrases makes some tokens likelier. Pure.

`runs.py` counts the tokens that follow others in the phrases. A word counts by all its tokens together: a word that is
likely by these counts gains, and any other loses a little, both within bounds. So "sure" wins over "share", which
sounds nearly the same. The end neither gains nor loses.
"""

from collections.abc import Sequence
from functools import lru_cache

from backend.extensions.local.recognition.tokens import Vocabulary
from backend.extensions.local.runs import ORDER, Runs

START, END = 1, 2
"""The tokens before the first word and after the last."""
WEIGHT = 0.8
"""The weight of expectation; the sound counts 1. A murmur has little sound."""
LEAST, NEUTRAL = -9.0, -7.0
"""Logarithms of probabilities: a lower one counts as `LEAST`; a word with `NEUTRAL` neither gains nor loses."""
MOST_REMEMBERED = 50_000


class ExpectedPhrases:
    """The runs of tokens in some phrases; without phrases, no word gains or loses."""

    def __init__(self, phrases: Sequence[str], tokens: Vocabulary) -> None:
        self._runs = Runs(
            [START, *(token for word in phrase.split() for token in tokens.of_word(word))] for phrase in phrases
        )
        self._likelihood = lru_cache(MOST_REMEMBERED)(self._runs.likelihood)
        self._begins = tokens.begins

    def __len__(self) -> int:
        return len(self._runs)

    def worth(self, before: Sequence[int], word: float, token: int) -> tuple[float, float]:
        """Return the bonus of a token after `before`, and the log-probability of its word so far.

        `word` is the log-probability of the word with which `before` ends.
        """
        if token == END or not self._runs:
            return 0.0, 0.0
        likelihood = self._likelihood((START, *before)[1 - ORDER :], token)
        if self._begins[token]:
            return _worth(likelihood), likelihood
        return _worth(word + likelihood) - _worth(word), word + likelihood


def _worth(log_probability: float) -> float:
    return WEIGHT * (max(LEAST, log_probability) - NEUTRAL)
