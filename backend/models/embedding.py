"""Embeddings, from any server with an OpenAI-compatible `/v1/embeddings`, or from a model in this process.

The model in this process is WordLlama's, the extra `embeddings`, which needs neither network nor key: its 16 MB of
token vectors are part of its wheel. A text's vector is the mean of its tokens', at unit length: good for finding texts
about the same thing, below a large model otherwise. Without any model, requests fail with a hint at what to set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

import httpx2
import msgspec
import numpy as np
from numpy.typing import NDArray
from tenacity import AsyncRetrying, retry_if_result, stop_after_attempt, wait_fixed

from backend.errors import EmbeddingUnavailable

WITHIN_S = 10.0
"""Seconds a request may take, including its one retry."""
PAUSE_S = 0.3
"""Seconds before the retry."""
RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
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


@dataclass(frozen=True, slots=True)
class EmbeddingsAPI:
    """One endpoint and model."""

    http: httpx2.AsyncClient = field(repr=False)
    base_url: str
    api_key: str = field(repr=False)
    model: str

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            async with asyncio.timeout(WITHIN_S):
                response: httpx2.Response = await AsyncRetrying(
                    stop=stop_after_attempt(2),
                    wait=wait_fixed(PAUSE_S),
                    retry=retry_if_result(lambda response: response.status_code in RETRYABLE),
                    retry_error_callback=lambda state: state.outcome and state.outcome.result(),
                )(
                    self.http.post,
                    f"{self.base_url}/embeddings",
                    json={"model": self.model, "input": list(texts), "encoding_format": "float"},
                    headers={"Authorization": f"Bearer {self.api_key}"},
                )
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingUnavailable(f"The embedding model does not answer ({type(error).__name__}).") from error
        if response.status_code != httpx2.codes.OK:
            raise EmbeddingUnavailable(f"The embedding model answered with HTTP {response.status_code}.", hint=HINT)
        return _vectors(response.content, len(texts))


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


class _Entry(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Entry]


def _vectors(answer: bytes, count: int) -> list[list[float]]:
    """Return the vectors of an answer, by their index. Raise `EmbeddingUnavailable` when it holds none."""
    try:
        entries = msgspec.json.decode(answer, type=_Embeddings).data
        vectors = [entry.embedding for entry in sorted(entries, key=lambda entry: entry.index)]
    except msgspec.DecodeError as error:
        raise EmbeddingUnavailable("The embedding model's answer cannot be read.") from error
    if len(vectors) != count or not vectors[0] or len({len(vector) for vector in vectors}) != 1:
        raise EmbeddingUnavailable("The embedding model's answer does not fit the question.")
    return vectors
