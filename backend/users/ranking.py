"""Ranking finds the short texts that fit a question by shared words, by meaning, or by both. Pure."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""The embedding of a text; its length is never 0."""
_WORD = re.compile(r"[^\W_]+")
STOP_WORDS = frozenset(
    {
        "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
        "could", "did", "do", "does", "for", "from", "get", "had", "has", "have", "he", "her", "him", "his", "how",
        "i", "if", "in", "is", "it", "its", "just", "know", "let", "like", "me", "mine", "my", "no", "not", "now",
        "of", "on", "or", "our", "out", "please", "remember", "say", "she", "should", "so", "some", "tell", "than",
        "that", "the", "their", "them", "then", "there", "these", "they", "thing", "this", "to", "too", "up", "us",
        "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would",
        "you", "your",
    }
)  # fmt: skip
"""Words that say nothing about a question's subject."""
MIN_SCORE = 0.12
"""The least share (0 to 1) of a question's weight that a fitting text contains."""
MIN_SIMILARITY = 0.35
"""The cosine from which two vectors count as similar."""
RANK_CONSTANT = 60


def words(text: str) -> list[str]:
    """Return the words of a text without stop words, case and inflections."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return [_stem(word) for word in _WORD.findall(plain) if word not in STOP_WORDS and len(word) > 1]


def by_words(question: str, texts: Sequence[str], limit: int) -> list[int]:
    """Return the indices of the texts that share words with the question, best first. Rare words count more."""
    wanted = frozenset(words(question))
    if not wanted:
        return []
    bags = _found(wanted, texts)
    common = Counter(word for bag in bags for word in bag)
    weight = {word: 1.0 + math.log((1 + len(bags)) / (1 + common[word])) for word in wanted}
    total = sum(weight.values())
    scores = [sum(weight[word] for word in bag) / total if bag else 0.0 for bag in bags]
    return _best(scores, MIN_SCORE, limit)


def by_vectors(question: Vector, texts: Sequence[Vector | None], limit: int) -> list[int]:
    """Return the indices of the texts with vectors similar to the question's, best first.

    A text without a vector, or with one of another length, is left out.
    """
    comparable = [place for place, text in enumerate(texts) if text is not None and len(text) == len(question)]
    if not comparable or not (own := float(np.linalg.norm(question))):
        return []
    matrix = np.stack([vector for place in comparable if (vector := texts[place]) is not None])
    lengths = np.linalg.norm(matrix, axis=1)
    cosines = matrix @ question / np.where(lengths > 0, lengths * own, np.inf)
    scores = [0.0] * len(texts)
    for place, cosine in zip(comparable, cosines.tolist(), strict=True):
        scores[place] = cosine
    return _best(scores, MIN_SIMILARITY, limit)


def by_both(words: Sequence[int], vectors: Sequence[int], limit: int) -> list[int]:
    """Return two rankings merged by reciprocal rank: indices that both contain come first.

    The first of each is never lost if there is room for two. See Cormack et al., SIGIR 2009, for the constant.
    """
    scores: dict[int, float] = {}
    for ranking in (words, vectors):
        for rank, place in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + 1 / (RANK_CONSTANT + rank)
    return sorted(scores, key=lambda place: -scores[place])[:limit]


def _best(scores: Sequence[float], least: float, limit: int) -> list[int]:
    fitting = [place for place, score in enumerate(scores) if score >= least]
    return sorted(fitting, key=lambda place: -scores[place])[:limit]


def _found(wanted: frozenset[str], texts: Sequence[str]) -> list[set[str]]:
    """Return the wanted words that each text contains.

    Most texts contain none, so one search finds words that begin like a wanted one, and only those are examined.
    """
    beginnings = "|".join(re.escape(word) + (f"|{re.escape(word[:-1])}ies" * word.endswith("y")) for word in wanted)
    candidate = re.compile(rf"(?<![^\W_])(?:{beginnings})[^\W_]*")
    bags = []
    for text in texts:
        plain = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
        near = candidate.findall(plain)
        bags.append({stem for word in near if word not in STOP_WORDS and (stem := _stem(word)) in wanted})
    return bags


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word
