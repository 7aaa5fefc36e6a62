"""Sentence vectors from the token vectors in WordLlama's wheel, 16 MB: the mean of a text's tokens, at unit length."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def encode(texts: Sequence[str]) -> Vectors:
    """Return one row of 256 numbers for each text, of length 1; zeros for a text without a word."""
    vectors = cast(Vectors, _model().embed(list(texts)))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return cast(Vectors, np.nan_to_num(vectors / np.where(lengths > 0, lengths, 1)))


@cache
def _model() -> Any:
    """Load the model, which takes half a second, once."""
    import wordllama

    # WordLlama looks for its tokenizer in a misspelt folder; given its package as its "cache", it finds it.
    folder = Path(cast(str, wordllama.__file__)).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
