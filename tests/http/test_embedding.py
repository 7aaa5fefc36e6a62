"""`POST /embedding`, against a local server that speaks the documented embeddings JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.models.embedding import EmbeddingsAPI
from backend.testing.services.server import Reply, Request, json_reply, serving
from tests.http.world import Browser, message_of, world


def vectors(request: Request) -> Reply:
    """Return a vector for each text, in the wrong order."""
    texts: list[str] = request.json()["input"]
    items = [{"object": "embedding", "embedding": [float(len(text)), 1.0]} for text in texts]
    data = [one | {"index": place} for place, one in enumerate(items)]
    return json_reply({"object": "list", "data": data[::-1], "model": "m", "usage": {}})


async def asked(folder: Path, body: Any, *replies: Any) -> httpx2.Response:
    """Return the answer to one request while the server of the model gives these replies in turn."""
    coming = iter(replies)

    def handler(request: Request) -> Any:
        reply = next(coming)
        return vectors(request) if reply is vectors else reply

    async with serving(handler) as api:
        embedder = EmbeddingsAPI(base_url=f"{api.url}/v1", api_key="key", model="m")
        async with world(folder, embedder=embedder) as here, here.browser() as browser:
            answer = await browser.post("/embedding", json=body)
        for request in api.requests:
            assert request.path == "/v1/embeddings" and request.headers["authorization"] == "Bearer key"
        await embedder.close()
    return answer


@pytest.mark.document("002", "embedding")
async def test_vectors_are_in_the_order_of_their_texts(tmp_path: Path) -> None:
    answer = await asked(tmp_path, {"input": ["a", "bcd"]}, vectors)
    assert answer.status_code == 200
    assert answer.json() == {
        "model": "m",
        "dimensions": 2,
        "embeddings": [[1.0, 1.0], [3.0, 1.0]],
    }
    assert "set-cookie" in answer.headers


@pytest.mark.document("002", "embedding")
async def test_a_single_text_gets_a_vector_and_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    answer = await asked(tmp_path, {"input": "a"}, json_reply({}, 429), vectors)
    assert answer.json()["embeddings"] == [[1.0, 1.0]]


@pytest.mark.parametrize(
    "reply",
    [
        json_reply({"error": {"message": "no"}}, 401),
        json_reply({"data": []}),
        json_reply({"data": [{"index": 0, "embedding": ["x"]}]}),
        json_reply([1]),
    ],
)
async def test_a_failing_model_server_answers_503(tmp_path: Path, reply: Reply) -> None:
    answer = await asked(tmp_path, {"input": "a"}, reply)
    assert answer.status_code == 503 and "embedding model" in message_of(answer)


async def test_without_an_embedding_model_the_answer_says_what_to_set(browser: Browser) -> None:
    answer = await browser.post("/embedding", json={"input": "a"})
    hint = answer.json()["error"]["hint"]
    assert answer.status_code == 503 and "EMBEDDING_BASE_URL" in hint and "EMBEDDING_MODEL" in hint


@pytest.mark.parametrize("body", [{}, {"input": ""}, {"input": []}, {"input": ["a"] * 65}, {"input": 3}])
async def test_an_input_without_text_is_refused(browser: Browser, body: Any) -> None:
    assert (await browser.post("/embedding", json=body)).status_code == 422
