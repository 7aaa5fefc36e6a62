"""The bundled embedding model, as it is: no network, no key, nothing fetched."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from backend.models import embedding
from backend.models.embedding import LocalEmbeddings, is_installed
from tests.http.world import world

SISTER, SIBLING, CAR = "My sister is called Anna.", "What is the name of my sibling?", "I drive a red car."


def likeness(one: list[float], other: list[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


async def test_what_is_about_the_same_points_the_same_way() -> None:
    sister, sibling, car = await LocalEmbeddings().embed([SISTER, SIBLING, CAR])
    assert len(sister) == 256 and math.isclose(likeness(sister, sister), 1.0, rel_tol=1e-5)
    assert likeness(sister, sibling) > 0.3 > likeness(sister, car)


async def test_vectors_are_served_without_key_or_network(tmp_path: Path) -> None:
    assert is_installed()
    async with world(tmp_path, embedder=LocalEmbeddings()) as here, here.browser() as browser:
        answer = (await browser.post("/embedding", json={"input": [SISTER, CAR]})).json()
    assert (answer["model"], answer["dimensions"], len(answer["embeddings"])) == (LocalEmbeddings.model, 256, 2)


async def test_a_model_that_cannot_be_read_is_said_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken() -> None:
        raise ImportError("no such library")

    async with world(tmp_path, embedder=LocalEmbeddings()) as here, here.browser() as browser:
        with monkeypatch.context() as patched:
            patched.setattr(embedding, "load_lookup", broken)
            answer = await browser.post("/embedding", json={"input": "a"})
            assert answer.status_code == 503 and "bundled model" in answer.json()["error"]["message"]
        assert (await browser.post("/embedding", json={"input": "a"})).status_code == 200, "tried again"
