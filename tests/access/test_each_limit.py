"""Each kind of budget refuses from outside: typed turns at once, money, kept bytes, a key's budget and a token's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import httpx2
import pytest

from backend.access.keys import ApiKeys
from backend.testing.services.server import Reply, Request, json_reply, serving
from tests.access.test_two_processes import OTHER, STRANGER, browser, soon
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.running_server import running_server

SECRET = "s" * 32
KEYED = {"ACCESS": "key", "API_KEYS": f"shop:{SECRET},mill:{SECRET[:-1]}t", "BACKGROUND__WORKER": "off"}
ASKED = {"message": "What is 2 + 2?"}
ONE_DOLLAR = '{"input_usd_per_million_tokens": 1000000, "output_usd_per_million_tokens": 1000000}'


@pytest.fixture(scope="module")
def running() -> Iterator[OfflinePeer]:
    with running_peer() as process:
        yield process


@pytest.fixture
async def peer(running: OfflinePeer) -> OfflinePeer:
    """A peer whose models answer at once, without tools: a turn asks one model once."""
    await running.follow({"chat": [{"text": "Four."}]})
    return running


def shown(user: str, key: str = "shop", **claims: object) -> dict[str, str]:
    """The header of a user's token, who comes from elsewhere."""
    keys = ApiKeys({"shop": SECRET, "mill": f"{SECRET[:-1]}t"})
    grants = {"chat": True, "tasks": True, "memory": True}
    return STRANGER | {"Authorization": f"Bearer {keys.sign(key, {'sub': user, 'grants': grants, **claims})}"}


async def test_four_turns_of_an_address_run_at_once_and_end(peer: OfflinePeer) -> None:
    await peer.follow({"chat": [{"text": "Four.", "delay_ms": 3000}]})
    with running_server(peer) as server:

        async def ask(_: int) -> httpx2.Response:
            async with browser(server, STRANGER) as client:  # each without a cookie
                return await client.post("/api/singleturn", json=ASKED)

        answers = await asyncio.gather(*map(ask, range(6)))
        assert sorted(answer.status_code for answer in answers) == [200] * 4 + [429] * 2
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert "messages being answered" in refused.json()["error"]["message"] and refused.json()["error"]["hint"]
        assert int(refused.headers["retry-after"]) > 0
        assert (await ask(0)).status_code == 200, "a turn that has ended gives its place back"


async def test_money_is_counted_by_the_prices_and_refused_when_it_is_spent(peer: OfflinePeer) -> None:
    models = {"THINKER_MODEL": "dear", "THINKER_MODEL_ADVANCED": "dear"}
    with running_server(peer, BUDGETS__PRICES=f'{{"dear": {ONE_DOLLAR}}}', BUDGETS__USER__USD="1", **models) as server:
        async with browser(server, STRANGER) as client:
            assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200

            async def spent() -> bool:
                usage = (await client.get("/api/me/usage")).json()["user"]
                assert usage["limits"]["micro_usd"] == 1_000_000
                return bool(usage["used"]["micro_usd"] >= 1_000_000)

            await soon(spent, within_s=5)
            refused = await client.post("/api/singleturn", json=ASKED)
            assert refused.status_code == 429 and "money" in refused.json()["error"]["message"]


async def test_vectors_are_charged_as_tokens_of_their_model(peer: OfflinePeer) -> None:
    def vectors(request: Request) -> Reply:
        texts: list[str] = request.json()["input"]
        return json_reply({"data": [{"index": place, "embedding": [1.0]} for place in range(len(texts))]})

    async with serving(vectors) as api:
        embeddings = {"EMBEDDING_BASE_URL": f"{api.url}/v1", "EMBEDDING_MODEL": "m"}
        with running_server(peer, BUDGETS__USER__MODEL_TOKENS="100", **embeddings) as server:
            async with browser(server, STRANGER) as client:
                assert (await client.post("/embedding", json={"input": ["a" * 200, "b" * 199]})).status_code == 200

                async def refused() -> bool:
                    answer = await client.post("/embedding", json={"input": "c"})
                    return answer.status_code == 429 and "model tokens" in answer.json()["error"]["message"]

                assert (await client.get("/api/me/usage")).json()["user"]["used"]["model_tokens"] == 100
                await soon(refused, within_s=5)


async def test_kept_bytes_are_those_of_the_body_and_refused_before_they_are_stored(peer: OfflinePeer) -> None:
    with running_server(peer, BUDGETS__USER__KEPT_KILOBYTES="1") as server:
        async with browser(server, STRANGER) as client:
            fact = {"changes": [{"op": "add_fact", "text": "likes tea " * 15}]}
            answers = [await client.patch("/api/me", json=fact) for _ in range(6)]
            statuses = [answer.status_code for answer in answers]
            assert statuses[0] == 200 and statuses[-1] == 429, answers[0].text
            assert "stored bytes" in answers[-1].json()["error"]["message"]
            used = (await client.get("/api/me/usage")).json()["user"]["used"]["kept_bytes"]
            length = len(answers[0].request.content)
            assert used == length * statuses.count(200) <= 1000, "what is refused is not charged"
            assert (await client.get("/api/me")).status_code == 200, "reading goes on"


async def test_a_keys_budget_is_that_of_all_its_users_and_of_no_other_keys(peer: OfflinePeer) -> None:
    with running_server(peer, BUDGETS__KEY__TASKS="2", **KEYED) as server:

        async def order(headers: dict[str, str]) -> httpx2.Response:
            async with browser(server, headers) as client:
                return await client.post("/api/tasks", json={"instruction": f"look {time.monotonic_ns()}"})

        answers = [await order(shown(user)) for user in ("ada", "bob", "cleo")]
        assert [answer.status_code for answer in answers] == [202, 202, 429], answers[0].text
        assert "API key" in answers[2].json()["error"]["message"]
        assert (await order(shown("ada", "mill"))).status_code == 202


async def test_a_tokens_budget_claim_limits_its_user_and_no_other(peer: OfflinePeer) -> None:
    with running_server(peer, **KEYED) as server:
        async with browser(server, shown("ada", budget=1)) as client:
            assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200
            usage = (await client.get("/api/me/usage")).json()["user"]
            assert usage["limits"]["model_tokens"] == 1

            async def refused() -> bool:
                return (await client.post("/api/singleturn", json=ASKED)).status_code == 429

            await soon(refused, within_s=5)
        async with browser(server, shown("bob", budget=0)) as client:
            assert (await client.post("/api/singleturn", json=ASKED)).status_code == 429
            assert (await client.get("/api/me/usage")).json()["user"]["limits"]["model_tokens"] == 0
        async with browser(server, shown("cleo") | OTHER) as client:
            assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200
