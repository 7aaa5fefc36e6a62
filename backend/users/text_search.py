"""The text search finds a user's texts by words and, if there is an embedding model, by meaning.

Turns and the search tool use the same search of everything that is remembered. Each text is embedded only once. If the
model is slow or unavailable, only words count; vectors that come late serve the next question.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from backend.errors import MemoryUnavailable, VoiceError
from backend.models.embedding import Embedder
from backend.runtime.supervisor import cancel_all
from backend.users.ranking import Vector, by_both, by_vectors, by_words
from backend.users.text_vectors import TextVectors

log = logging.getLogger(__name__)

EMBED_WITHIN_S = 0.6
"""Seconds the embedding model may take while a user waits; after that only words count."""
BATCH = 64
"""The most new texts of one request."""
FILLS_LIMIT = 16
"""The most users with texts that are embedded at the same time; others wait for their next question."""


class TextSearch:
    """Searches users' texts. Without an `embedder`, only words count."""

    def __init__(self, embedder: Embedder | None = None, vectors: TextVectors | None = None) -> None:
        self._embedder = embedder if vectors else None
        self._vectors = vectors
        self._filling: dict[str, asyncio.Task[None]] = {}

    async def fitting(
        self, user_id: str, question: str, texts: Sequence[str], limit: int, *, whole: bool = False
    ) -> list[int]:
        """Return the indices of at most `limit` of the `texts` (newest first) that fit `question`, best first.

        `whole` says that these are all texts of the user, so that vectors of others are deleted. Never raises.
        """
        ranked = by_words(question, texts, limit)
        if self._embedder is None or self._vectors is None or not texts or not user_id:
            return ranked
        known: list[Vector | None] = [None] * len(texts)
        with suppress(MemoryUnavailable):
            if whole:
                await self._vectors.keep_only(user_id, texts)
            known = await self._vectors.read(user_id, texts)
        missing = list(dict.fromkeys(text for text, vector in zip(texts, known, strict=True) if vector is None))
        asked = asyncio.ensure_future(self._embedder.embed([question]))
        filling = self._fill(self._embedder, self._vectors, user_id, missing)
        try:
            await asyncio.wait({asked, filling} if filling else {asked}, timeout=EMBED_WITHIN_S)
        finally:
            if not asked.done():
                asked.cancel()
        if not asked.done() or asked.exception() is not None:
            return ranked
        if filling:
            with suppress(MemoryUnavailable):
                known = await self._vectors.read(user_id, texts)
        return by_both(ranked, by_vectors(_as_vectors(asked.result())[0], known, limit), limit)

    async def settle(self) -> None:
        """Wait for texts that are being embedded in the background."""
        await asyncio.gather(*self._filling.values(), return_exceptions=True)

    async def forget(self, user_id: str) -> None:
        """Stop embedding texts of a user that is being erased, and return when none is embedded."""
        await cancel_all([fill] if (fill := self._filling.get(user_id)) else [])

    async def close(self) -> None:
        """Stop embedding in the background."""
        await cancel_all(list(self._filling.values()))

    def _fill(
        self, embedder: Embedder, vectors: TextVectors, user_id: str, texts: Sequence[str]
    ) -> asyncio.Task[None] | None:
        """Begin to embed and keep texts, unless that already runs; None: there is nothing to wait for."""
        # One request for each user at a time, and few in all, keep the model's load low.
        if user_id not in self._filling and texts and len(self._filling) < FILLS_LIMIT:
            fill = asyncio.create_task(_embed(embedder, vectors, user_id, texts), name="embed texts")
            self._filling[user_id] = fill
            fill.add_done_callback(lambda _: self._filling.pop(user_id, None))
        return self._filling.get(user_id)


async def _embed(embedder: Embedder, vectors: TextVectors, user_id: str, texts: Sequence[str]) -> None:
    """Embed and keep texts; the embedder bounds the time of each request."""
    try:
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            await vectors.keep(user_id, dict(zip(batch, _as_vectors(await embedder.embed(batch)), strict=True)))
    except VoiceError as error:
        log.info("%d texts are not compared by meaning yet: %s", len(texts), error)


def _as_vectors(made: Sequence[Sequence[float]]) -> list[Vector]:
    return [np.asarray(vector, np.float32) for vector in made]


WORDS_ONLY = TextSearch()
