"""The newest turns and Thinkers of all calls, for medians: Prometheus's buckets are too coarse for a glance.

Bounded, without words or names of callers; the rest of what is counted is in `metrics`.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

KEPT = 500
"""Turns, and answers of each Thinker, that medians are taken over."""


class Recent:
    """What `Metrics` counts, kept one by one for a while."""

    def __init__(self) -> None:
        self._turns: deque[dict[str, float]] = deque(maxlen=KEPT)
        self._seconds: dict[str, deque[float]] = {}
        self._outcomes: dict[str, Counter[str]] = {}

    def __repr__(self) -> str:
        return f"Recent({len(self._turns)} turns, {len(self._seconds)} Thinkers)"

    def turn(self, legs: Mapping[str, float]) -> None:
        """A turn's legs by name, in milliseconds."""
        self._turns.append(dict(legs))

    def thinker(self, domain: str, outcome: str, seconds: float) -> None:
        """A Thinker's work ended. `domain` and `outcome` are of closed sets: the table does not grow."""
        self._outcomes.setdefault(domain, Counter())[outcome] += 1
        self._seconds.setdefault(domain, deque(maxlen=KEPT)).append(seconds)

    def turns(self) -> dict[str, Any]:
        """`{count, legs: {name: {p50_ms, p95_ms}}}` of the newest turns."""
        names = dict.fromkeys(name for legs in self._turns for name in legs)
        return {
            "count": len(self._turns),
            "legs": {name: middle(legs[name] for legs in self._turns if name in legs) for name in names},
        }

    def thinkers(self) -> list[dict[str, Any]]:
        """`{domain, outcomes, p50_ms, p95_ms}` of each Thinker that has worked; outcomes since the start."""
        return [
            {"domain": domain, "outcomes": dict(self._outcomes[domain])} | middle(1000 * each for each in seconds)
            for domain, seconds in sorted(self._seconds.items())
        ]


def middle(values: Iterable[float]) -> dict[str, int]:
    """Median and 95th percentile by nearest rank. Raises `ValueError` when there are none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there is no middle of nothing")
    return {f"p{share}_ms": round(ordered[math.ceil(share / 100 * len(ordered)) - 1]) for share in (50, 95)}
