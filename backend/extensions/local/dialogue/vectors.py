"""Sentence vectors from the token vectors in WordLlama's wheel, 16 MB: the mean of a text's tokens, at unit length.

They need neither network nor key. They find texts about the same thing well, and are worse than a large model's
vectors otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
WIDTH = 256


def encode(texts: Sequence[str]) -> Vectors:
    """Return one row of 256 numbers for each text, of length 1; zeros for a text without a word.

    If WordLlama has no wheel, all are zeros, and sentences are compared by the words that they share.
    """
    lookup = _lookup()
    if lookup is None:
        return np.zeros((len(texts), WIDTH), np.float32)
    vectors = lookup(list(texts))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return cast(Vectors, np.nan_to_num(vectors / np.where(lengths > 0, lengths, 1)))


class LocalEmbeddings:
    """The vectors for `POST /embedding`. Texts are embedded one at a time, so that other threads get their turn."""

    model = "wordllama-l2-supercat-256"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return 256 numbers for each text, of length 1; all 0 for a text without a word."""
        rows = [await asyncio.to_thread(encode, [text]) for text in texts]
        return [cast(list[float], row[0].tolist()) for row in rows]


def local_embeddings() -> LocalEmbeddings | None:
    """Return the embedder; None if WordLlama is not installed."""
    return LocalEmbeddings() if find_spec("wordllama") else None


@cache
def _lookup() -> Callable[[list[str]], Vectors] | None:
    """Load the model once, which takes half a second; return None if it is not installed."""
    try:
        import wordllama  # only on first use
    except ImportError:
        log.warning("wordllama has no wheel for this machine: questions are routed by the words they share alone")
        return None
    # WordLlama looks for its tokenizer in a misspelt folder; given its package as its "cache", it finds it.
    folder = Path(cast(str, wordllama.__file__)).parent
    model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return cast(Callable[[list[str]], Vectors], model.embed)
