"""Texts to vectors in this process, without network or key: WordLlama's bundled model, the extra `embeddings`.

Its 16 MB of token vectors lie in its wheel, so nothing is fetched, ever. A text's vector is the mean of its tokens',
at unit length: good for telling what is about the same, below a large model in the rest. Its name is in the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from backend.errors import EmbeddingUnavailable

MODEL = "wordllama-l2-supercat-256"
LOAD_WITHIN_S = 30.0
"""Seconds reading the model may take, once; two or three are usual."""

_Lookup = Callable[[list[str]], NDArray[np.float32]]


class LocalEmbeddings:
    """The bundled model, read when it is first asked for. One text at a time, so that threads of calls come between."""

    model = MODEL

    def __init__(self) -> None:
        self._lookup: _Lookup | None = None
        self._reading = asyncio.Lock()

    def __repr__(self) -> str:
        return f"LocalEmbeddings({MODEL})"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """256 numbers for each, of length 1; all 0 for a text without a word. Raises `EmbeddingUnavailable`."""
        lookup = await self._read_once()
        return [await asyncio.to_thread(_vector, lookup, text) for text in texts]

    async def _read_once(self) -> _Lookup:
        """The model; who comes while it is being read waits for it. A failure is tried again by the next who asks."""
        try:
            async with asyncio.timeout(LOAD_WITHIN_S), self._reading:
                if self._lookup is None:
                    self._lookup = await asyncio.to_thread(_read)
                return self._lookup
        except (TimeoutError, ImportError, OSError) as error:
            raise EmbeddingUnavailable(f"The bundled model cannot be read ({type(error).__name__}).") from error


def bundled() -> bool:
    """Whether the extra is installed."""
    return find_spec("wordllama") is not None


def _read() -> _Lookup:
    import wordllama  # takes a second or two: only who asks for vectors waits

    # It looks for its own tokenizer in a folder that is misspelt; as its "cache", its package is searched properly.
    folder = Path(cast(str, wordllama.__file__)).parent
    model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return cast(_Lookup, model.embed)


def _vector(lookup: _Lookup, text: str) -> list[float]:
    vector = lookup([text])[0]
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0.0:
        return [0.0] * len(vector)
    return cast(list[float], (vector / length).tolist())
