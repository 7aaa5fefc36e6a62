"""Find those of many short texts that fit a question: by their meaning if vectors come in time, else by shared words.

This is the one ranking of everything that is remembered: what a turn is shown unasked, and what is searched for.
"""

from __future__ import annotations

import asyncio
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from backend.errors import PeerError
from backend.models.embedding import Embedder

EMBED_WITHIN_S = 0.6
"""Seconds the embedding model may take; then words must do."""
CANDIDATES = 64
"""Texts compared by meaning at most: the first ones."""
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
"""Of 1, the share of a question's weight that must be found in a text."""
MIN_SIMILARITY = 0.35
"""Cosine from which two vectors are about the same."""


async def fitting(question: str, texts: Sequence[str], embedder: Embedder | None, limit: int) -> list[int]:
    """Return the places in `texts`, newest first, of at most `limit` that fit `question`, best first. Never raises."""
    if embedder is not None and texts:
        try:
            async with asyncio.timeout(EMBED_WITHIN_S):
                made = await embedder.embed([question, *texts[:CANDIDATES]])
        except (PeerError, TimeoutError):
            made = []
        if len(made) > 1:
            return by_vectors(made[0], made[1:], limit)
    return by_words(question, texts, limit)


def words(text: str) -> list[str]:
    """Return the words of a text without stop words, case and endings that only inflect them."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return [_stem(word) for word in _WORD.findall(plain) if word not in STOP_WORDS and len(word) > 1]


def by_words(question: str, texts: Sequence[str], limit: int) -> list[int]:
    """Return the places of the texts that share the question's words, best first; rare words count more."""
    wanted = frozenset(words(question))
    if not wanted:
        return []
    bags = _found(wanted, texts)
    common = Counter(word for bag in bags for word in bag)
    weight = {word: 1.0 + math.log((1 + len(bags)) / (1 + common[word])) for word in wanted}
    total = sum(weight.values())
    scores = [sum(weight[word] for word in bag) / total if bag else 0.0 for bag in bags]
    return _best(scores, MIN_SCORE, limit)


def by_vectors(question: Sequence[float], texts: Sequence[Sequence[float]], limit: int) -> list[int]:
    """Return the places of the texts whose vectors point where the question's does, the best first."""
    return _best([cosine(question, text) for text in texts], MIN_SIMILARITY, limit)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors, from -1 to 1; 0 where either has no length."""
    lengths = math.sqrt(sum(x * x for x in one)) * math.sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _best(scores: Sequence[float], least: float, limit: int) -> list[int]:
    fitting = [place for place, score in enumerate(scores) if score >= least]
    return sorted(fitting, key=lambda place: -scores[place])[:limit]


def _found(wanted: frozenset[str], texts: Sequence[str]) -> list[set[str]]:
    """Return the wanted words each text holds.

    Most texts hold none, so one search finds the words that begin like a wanted one, and only those are looked at.
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
