"""Embeddings, from any server with an OpenAI-compatible `/v1/embeddings`, or from a model in this process.

The model in this process is WordLlama's, the extra `embeddings`, which needs neither network nor key: its 16 MB of
token vectors are part of its wheel. A text's vector is the mean of its tokens', at unit length: good for finding texts
about the same thing, below a large model otherwise. Without any model, requests fail with a hint at what to set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from backend.errors import EmbeddingUnavailable

WITHIN_S = 10.0
"""Seconds a request may take, including its one retry."""
HINT = (
    "Set OPENAI_API_KEY; or, to stay offline, install the extra with a bundled model "
    "(.venv/bin/pip install -e '.[embeddings]'), or set EMBEDDING_BASE_URL and EMBEDDING_MODEL to a local server."
)
LOAD_WITHIN_S = 30.0
"""Seconds that loading the model may take, once; two or three are usual."""

Lookup = Callable[[list[str]], NDArray[np.float32]]


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def model(self) -> str:
        """The model's name."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in their order, all of one length. Raise `EmbeddingUnavailable`."""


class EmbeddingsAPI:
    """One endpoint and model, asked through the `openai` package, which asks twice."""

    def __init__(self, *, base_url: str, api_key: str, model: str) -> None:
        from openai import AsyncOpenAI  # takes half a second to import: only where needed

        self.model = model
        self._client = AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=1)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        from openai import APIStatusError, OpenAIError

        asking = self._client.embeddings.create(model=self.model, input=list(texts), encoding_format="float")
        try:
            async with asyncio.timeout(WITHIN_S):
                answer = await asking
            vectors = np.array(
                [each.embedding for each in sorted(answer.data, key=lambda each: each.index)], np.float64
            )
        except APIStatusError as error:
            raise EmbeddingUnavailable(
                f"The embedding model answered with HTTP {error.status_code}.", hint=HINT
            ) from error
        except (TimeoutError, OpenAIError) as error:
            raise EmbeddingUnavailable(f"The embedding model does not answer ({type(error).__name__}).") from error
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbeddingUnavailable("The embedding model's answer cannot be read.") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingUnavailable("The embedding model's answer does not fit the question.")
        return cast(list[list[float]], vectors.tolist())

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class NoEmbeddings:
    """The embedder where no model is configured: every request fails with a hint at what to set."""

    model = ""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EmbeddingUnavailable("No embedding model is configured.", hint=HINT)


class LocalEmbeddings:
    """The bundled model, loaded on first use. It embeds one text at a time, so that other threads get their turn."""

    model = "wordllama-l2-supercat-256"

    def __init__(self) -> None:
        self._lookup: Lookup | None = None
        self._loading = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return 256 numbers for each text, of length 1; all 0 for a text without a word. Raise
        `EmbeddingUnavailable`."""
        lookup = await self._loaded()
        return [await asyncio.to_thread(_vector, lookup, text) for text in texts]

    async def _loaded(self) -> Lookup:
        """Return the model, loaded once; after a failure the next request loads it again."""
        try:
            async with asyncio.timeout(LOAD_WITHIN_S), self._loading:
                if self._lookup is None:
                    self._lookup = await asyncio.to_thread(load_lookup)
                return self._lookup
        except (TimeoutError, ImportError, OSError) as error:
            raise EmbeddingUnavailable(f"The bundled model cannot be loaded ({type(error).__name__}).") from error


def is_installed() -> bool:
    """Return True if the extra is installed."""
    return find_spec("wordllama") is not None


def load_lookup() -> Lookup:
    """Load the bundled model. Raise `ImportError` where it is not installed."""
    import wordllama  # takes a second or two, so only on first use

    # WordLlama looks for its tokenizer in a misspelt folder; given its package as its "cache", it finds it.
    folder = Path(cast(str, wordllama.__file__)).parent
    model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return cast(Lookup, model.embed)


def _vector(lookup: Lookup, text: str) -> list[float]:
    vector = lookup([text])[0]
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0.0:
        return [0.0] * len(vector)
    return cast(list[float], (vector / length).tolist())
