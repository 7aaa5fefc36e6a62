"""Requests to a service: every method, and every failure, with words for the user."""

import httpx2
import pytest

from backend.errors import ToolFailed
from backend.testing.services.server import Reply, json_reply, serving
from backend.tools.fetch import BODY_LIMIT, Method, ServiceAnswer, ServiceUnreachable, fetch_answer, fetch_text


class Crater(ServiceAnswer):
    """The answer of the service."""

    name: str
    km: float


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_every_method_takes_json_parameters_and_headers(method: Method) -> None:
    body = None if method == "GET" else {"name": "Tycho", "tags": ["bright", "jüngst"]}
    async with (
        serving(lambda _: json_reply({"name": "Tycho", "km": 85, "more": 1})) as api,
        httpx2.AsyncClient() as http,
    ):
        crater = await fetch_answer(
            http, "The moon", f"{api.url}/c", Crater, {"q": "a b"}, {"x-key": "k"}, method=method, json=body
        )
    [request] = api.requests
    assert crater == Crater(name="Tycho", km=85)
    assert (request.method, request.path, request.query) == (method, "/c", {"q": "a b"})
    assert (request.headers["x-key"], request.headers["accept"]) == ("k", "application/json")
    assert (request.json() if request.body else None) == body


@pytest.mark.parametrize(
    ("reply", "words", "retryable"),
    [
        (Reply(429), "The moon accepts no more requests from us for now.", True),
        (Reply(503), "The moon has an error of its own (503).", True),
        (Reply(404), "The moon refuses the request (404).", False),
        (Reply(302, headers={"location": "/elsewhere"}), "The moon refuses the request (302).", False),
        (json_reply({"name": "Tycho"}), "The moon sent an answer that cannot be read.", True),
        (Reply(200, parts=[b"x" * (BODY_LIMIT + 1)]), "The moon sent far too much data.", True),
        (Reply(breaks_off=True), "The moon cannot be reached.", True),
        (Reply(200, delay_s=2.0), "The moon does not answer.", True),
    ],
)
async def test_a_failure_has_words_for_the_user_and_says_whether_to_try_again(
    reply: Reply, words: str, retryable: bool
) -> None:
    async with serving(lambda _: reply) as api, httpx2.AsyncClient() as http:
        with pytest.raises(ToolFailed) as failed:
            await fetch_answer(http, "The moon", api.url, Crater, method="POST", json={}, timeout_s=0.3)
    assert (str(failed.value), failed.value.retryable) == (words, retryable)
    assert len(api.requests) == 1, "a request that may have changed something is never repeated here"


async def test_an_address_without_a_server_has_words_for_the_user_too() -> None:
    async with httpx2.AsyncClient() as http:
        with pytest.raises(ServiceUnreachable, match="cannot be reached"):
            await fetch_text(http, "The moon", "http://127.0.0.1:9/", method="DELETE")
