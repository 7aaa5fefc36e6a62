"""Finds those of many short texts that fit a question: by their meaning if that can be had in time, else by words.

The one ranking for everything that is remembered: what a turn is told unasked, and what is searched for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from backend.errors import PeerError
from backend.users.ranking import by_vectors, by_words

EMBED_WITHIN_S = 0.6
"""Seconds the embedding model may take; then words must do."""
CANDIDATES = 64
"""Texts compared by meaning, at most: the ones that stand first."""


class Vectors(Protocol):
    """Texts to vectors, as an embedding model makes them."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each, in the same order, all of one length. Raises a `PeerError`."""
        ...


async def fitting(question: str, texts: Sequence[str], vectors: Vectors | None, limit: int) -> list[int]:
    """The places in `texts`, newest first, of at most `limit` that fit `question`, the best first. Raises nothing."""
    if vectors is not None and texts:
        try:
            async with asyncio.timeout(EMBED_WITHIN_S):
                made = await vectors.embed([question, *texts[:CANDIDATES]])
        except (PeerError, TimeoutError):
            made = []
        if len(made) > 1:
            return by_vectors(made[0], made[1:], limit)
    return by_words(question, texts, limit)
