"""Embeddings, from any server with an OpenAI-compatible `/v1/embeddings`, or from a model that an extension brings.

Without any model, requests fail with a hint that names the settings.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from backend.errors import EmbeddingUnavailable

WITHIN_S = 10.0
"""The most seconds of a request, including its one retry."""
HINT = (
    "Set OPENAI_API_KEY; or, to stay offline, install the extra with a bundled model "
    "(.venv/bin/pip install -e '.[embeddings]'), or set EMBEDDING_BASE_URL and EMBEDDING_MODEL to a local server."
)


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def model(self) -> str:
        """The model's name."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in their order, all of one length. Raise `EmbeddingUnavailable`."""


class EmbeddingsAPI:
    """One endpoint and model, requested through the `openai` package, which tries twice."""

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
    """The embedder where no model is configured: every request fails with a hint that names the settings."""

    model = ""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EmbeddingUnavailable("No embedding model is configured.", hint=HINT)
