"""A trigram language model in the ARPA text format, from weighted sentences. Pure.

Each order keeps `1 - DISCOUNT` of its probability for what it has seen and backs off to the next shorter history with
the rest. The corpus is made of patterns, so that a small discount serves: nearly everything expected has been seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log10

DISCOUNT = 0.2
"""Probability left for what the history has not been seen with."""
Gram = tuple[str, ...]
Counts = Mapping[Gram, int]


def arpa(sentences: Iterable[tuple[str, int]]) -> str:
    """The model's text; sentences are lower-case words with a weight each."""
    counts = _counted(sentences)
    followed = [_continuations(each) for each in counts]
    chances = [_unigrams(counts[0]), _higher(counts[1], followed[1]), _higher(counts[2], followed[2])]
    backoffs = [_backoffs(followed[1], chances[1], chances[0]), _backoffs(followed[2], chances[2], chances[1])]
    lines = ["\\data\\", *(f"ngram {order}={len(each)}" for order, each in enumerate(chances, 1))]
    for order, each in enumerate(chances, 1):
        lines += ["", f"\\{order}-grams:"]
        for gram in sorted(each):
            backoff = f" {log10(backoffs[order - 1].get(gram, 1.0)):.4f}" if order < 3 else ""
            lines.append(f"{log10(each[gram]):.4f} {' '.join(gram)}{backoff}")
    return "\n".join([*lines, "", "\\end\\", ""])


def _counted(sentences: Iterable[tuple[str, int]]) -> list[Counter[Gram]]:
    counts: list[Counter[Gram]] = [Counter(), Counter(), Counter()]
    for sentence, weight in sentences:
        words = ("<s>", *sentence.split(), "</s>")
        for order, counter in enumerate(counts, 1):
            for start in range(len(words) - order + 1):
                counter[words[start : start + order]] += weight
    return counts


def _continuations(counts: Counts) -> dict[Gram, int]:
    """How often each history was followed by anything."""
    totals: Counter[Gram] = Counter()
    for gram, count in counts.items():
        totals[gram[:-1]] += count
    return totals


def _unigrams(counts: Counts) -> dict[Gram, float]:
    total = sum(counts.values())
    return {gram: count / total for gram, count in counts.items()}


def _higher(counts: Counts, followed: Counts) -> dict[Gram, float]:
    return {gram: (1 - DISCOUNT) * count / followed[gram[:-1]] for gram, count in counts.items()}


def _backoffs(followed: Counts, seen: Mapping[Gram, float], shorter: Mapping[Gram, float]) -> dict[Gram, float]:
    """What each history's unseen followers get of their chance under the shorter history."""
    covered: dict[Gram, float] = dict.fromkeys(followed, 0.0)
    for gram in seen:
        covered[gram[:-1]] += shorter.get(gram[1:], 0.0)
    return {history: DISCOUNT / max(1e-6, 1.0 - share) for history, share in covered.items()}
