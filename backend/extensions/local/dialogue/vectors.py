"""Sentence vectors from the token vectors in WordLlama's wheel, 16 MB: the mean of a text's tokens, at unit length.

They need neither network nor key. They find texts about the same thing well, and are worse than a large model's
vectors otherwise.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
WIDTH = 256


def encode(texts: Sequence[str]) -> Vectors:
    """Return one row of 256 numbers for each text, of length 1; zeros for a text without a word.

    If WordLlama is not installed, all are zeros, and sentences are compared by the words that they share.
    """
    lookup = _lookup()
    if lookup is None:
        return np.zeros((len(texts), WIDTH), np.float32)
    vectors = np.array([lookup(text) for text in texts], np.float32).reshape(len(texts), WIDTH)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return cast(Vectors, vectors / np.where(lengths > 0, lengths, 1))


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
def _lookup() -> Callable[[str], Vectors] | None:
    """Load the model once; return what sums up a text's token vectors, or None if it is not installed."""
    package = find_spec("wordllama")
    if package is None or package.origin is None:
        log.warning("wordllama is not installed: questions are routed by the words they share alone")
        return None
    from safetensors.numpy import load_file  # only on first use, like the next
    from tokenizers import Tokenizer

    folder = Path(package.origin).parent  # Its files alone are read: importing the package takes seconds.
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    table: Vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]

    def add_up(text: str) -> Vectors:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        return cast(Vectors, table[tokens].sum(axis=0, dtype=np.float32))

    return add_up
