"""The bundled embedding model, unchanged: no network, no key, nothing fetched."""

import math
from pathlib import Path

from backend.extensions.local.dialogue.vectors import LocalEmbeddings, local_embeddings
from tests.http.world import world

SISTER, SIBLING, CAR = "My sister is called Anna.", "What is the name of my sibling?", "I drive a red car."


def likeness(one: list[float], other: list[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


async def test_vectors_are_served_without_key_or_network(tmp_path: Path) -> None:
    embedder = local_embeddings()
    assert embedder
    async with world(tmp_path, embedder=embedder) as here, here.browser() as browser:
        answer = (await browser.post("/embedding", json={"input": [SISTER, SIBLING, CAR]})).json()
    assert (answer["model"], answer["dimensions"]) == (LocalEmbeddings.model, 256)
    sister, sibling, car = answer["embeddings"]
    assert math.isclose(likeness(sister, sister), 1.0, rel_tol=1e-5)
    assert likeness(sister, sibling) > 0.3 > likeness(sister, car)
