"""Sentence vectors from the token vectors in WordLlama's wheel, 16 MB: the mean of a text's tokens, at unit length."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from backend.models.embedding import Lookup, load_lookup

log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
WIDTH = 256


def encode(texts: Sequence[str]) -> Vectors:
    """Return one row of 256 numbers for each text, of length 1; zeros for a text without a word.

    Where WordLlama has no wheel, all are zeros, and sentences are compared by the words they share.
    """
    lookup = _lookup()
    if lookup is None:
        return np.zeros((len(texts), WIDTH), np.float32)
    vectors = lookup(list(texts))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return cast(Vectors, np.nan_to_num(vectors / np.where(lengths > 0, lengths, 1)))


@cache
def _lookup() -> Lookup | None:
    """Load the model, which takes half a second, once; None where it is not installed."""
    try:
        return load_lookup()
    except ImportError:
        log.warning("wordllama has no wheel for this machine: questions are routed by the words they share alone")
        return None
