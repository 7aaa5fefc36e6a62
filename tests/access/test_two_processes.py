"""Budgets and permits from outside: two servers on one Redis, and strangers who come through a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import httpx2

from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import running_redis
from tests.support.running_server import RunningServer, placed_call, running_server

STRANGER = {"X-Forwarded-For": "203.0.113.7"}
"""A proxy on this machine says where they come from."""
OTHER = {"X-Forwarded-For": "198.51.100.9"}


@contextmanager
def two_servers(peer: OfflinePeer, **env: str) -> Iterator[tuple[RunningServer, RunningServer]]:
    with running_redis() as redis:
        shared = {"REDIS_URL": redis.url, "SECRET_KEY": "k" * 32, "BACKGROUND__WORKER": "off"} | env
        with running_server(peer, **shared) as one, running_server(peer, **shared) as two:
            yield one, two


@asynccontextmanager
async def browser(server: RunningServer, headers: dict[str, str]) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=15, trust_env=False) as client:
        yield client


async def soon(happens: Callable[[], Awaitable[bool]], *, within_s: float) -> None:
    """Ask again and again, five times a second, until it happens."""
    for _ in range(round(within_s * 5)):
        if await happens():
            return
        await asyncio.sleep(0.2)
    raise AssertionError("it did not happen")


async def test_tasks_of_one_address_are_counted_over_both_processes_whatever_their_cookies(peer: OfflinePeer) -> None:
    with two_servers(peer, BUDGETS__ADDRESS__TASKS="6") as servers:

        async def ask(number: int) -> httpx2.Response:
            async with browser(servers[number % 2], STRANGER) as client:  # each without a cookie
                return await client.post("/api/tasks", json={"instruction": f"look into number {number}"})

        answers = await asyncio.gather(*map(ask, range(12)))
        assert sorted(answer.status_code for answer in answers) == [202] * 6 + [429] * 6
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert "address" in refused.json()["error"]["message"] and refused.json()["error"]["hint"]
        assert int(refused.headers["retry-after"]) <= 86_400
        async with browser(servers[0], OTHER) as another:
            assert (await another.post("/api/tasks", json={"instruction": "look"})).status_code == 202
        async with browser(servers[1], {}) as at_home:
            for number in range(8):
                answer = await at_home.post("/api/tasks", json={"instruction": f"at home {number}"})
                assert answer.status_code == 202


async def test_model_tokens_spent_at_one_process_are_refused_at_the_other(peer: OfflinePeer) -> None:
    with two_servers(peer, BUDGETS__USER__MODEL_TOKENS="3000") as (one, two):
        async with browser(one, STRANGER) as client:
            assert (await client.post("/api/singleturn", json={"message": "What is 2 + 2?"})).status_code == 200
            cookies = dict(client.cookies)
            used = (await client.get("/api/me/usage")).json()
            assert used["limited"] is True and used["user"]["limits"]["model_tokens"] == 3000
        async with browser(two, STRANGER | {"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items())}) as client:

            async def refused() -> bool:
                answer = await client.post("/api/singleturn", json={"message": "And 3 + 3? " * 40})
                return answer.status_code == 429

            await soon(refused, within_s=30)
            usage = (await client.get("/api/me/usage")).json()
            assert usage["user"]["used"]["model_tokens"] >= 1000
            assert (await client.get("/api/me")).status_code == 200, "what costs nothing goes on"


async def test_above_the_ceiling_whatever_costs_answers_503_with_a_hint(peer: OfflinePeer) -> None:
    with two_servers(peer, BUDGETS__TOTAL__MODEL_TOKENS="20", ADMIN_TOKEN="a" * 16, METRICS_TOKEN="m" * 16) as (
        one,
        two,
    ):
        async with browser(one, {}) as at_home:  # counted, never refused
            assert (await at_home.post("/api/singleturn", json={"message": "What is 2 + 2?"})).status_code == 200
        await asyncio.sleep(1.5)  # counts are written once a second
        async with browser(two, OTHER) as client:
            costly = {
                "/api/singleturn": {"message": "hello"},
                "/api/multiturn": {"message": "hello"},
                "/api/reasoning": {"task": "think"},
                "/api/tasks": {"instruction": "look into it"},
                "/api/input": {"text": "look into it"},
                "/embedding": {"input": "words"},
                "/api/sessions": {},
                "/api/rtc/offer": {"sdp": "v=0"},
            }
            for path, body in costly.items():
                answer = await client.post(path, json=body)
                assert answer.status_code == 503, (path, answer.text)
                assert "midnight UTC" in answer.json()["error"]["hint"]
                assert int(answer.headers["retry-after"]) > 0
            metrics = (await client.get("/metrics", headers={"Authorization": "Bearer " + "m" * 16})).text
            assert 'voice_budget_limit{resource="model_tokens"} 20.0' in metrics
            assert 'voice_budget_refusals_total{resource="model_tokens",scope="total"} 8.0' in metrics
            admin = await client.get("/api/admin/overview", headers={"Authorization": "Bearer " + "a" * 16})
            assert admin.json()["budget"]["used"]["model_tokens"] >= 20


async def test_two_live_calls_of_an_address_are_taken_over_both_processes_and_no_third(peer: OfflinePeer) -> None:
    with two_servers(peer) as (one, two):
        async with browser(one, STRANGER) as first, browser(two, STRANGER) as second, browser(two, OTHER) as other:
            assert (await first.post("/api/sessions", json={})).status_code == 200
            assert (await second.post("/api/sessions", json={})).status_code == 200
            for client in (first, second):
                refused = await client.post("/api/sessions", json={})
                assert refused.status_code == 429 and "calls" in refused.json()["error"]["message"]
            assert (await other.post("/api/sessions", json={})).status_code == 200


async def test_a_call_that_has_ended_gives_its_slot_back(peer: OfflinePeer) -> None:
    with two_servers(peer, BUDGETS__LIVE_CALLS="1", BUDGETS__LIMIT_LOOPBACK="true") as (one, two):
        async with placed_call(one), browser(two, {}) as client:
            assert (await client.post("/api/sessions", json={})).status_code == 429

        async with browser(two, {}) as client:

            async def taken() -> bool:
                return (await client.post("/api/sessions", json={})).status_code == 200

            await soon(taken, within_s=5)


async def test_eight_streams_of_an_address_are_open_at_once_over_both_processes(peer: OfflinePeer) -> None:
    with two_servers(peer) as servers:
        async with browser(servers[0], STRANGER) as one, browser(servers[1], STRANGER) as two:
            opened: list[httpx2.Response] = []
            for number in range(9):
                client = (one, two)[number % 2]
                opened.append(await client.send(client.build_request("GET", "/api/me/events"), stream=True))
            statuses = [response.status_code for response in opened]
            for response in opened:
                await response.aclose()
            assert statuses == [200] * 8 + [429]


async def test_a_live_call_over_its_voice_budget_ends_with_a_goodbye(peer: OfflinePeer) -> None:
    with two_servers(peer, BUDGETS__USER__VOICE_MINUTES="0.05", BUDGETS__LIMIT_LOOPBACK="true") as (one, _):
        async with placed_call(one) as call:
            ended = await call.told("session_ended", within_s=20)
            assert ended.data["reason"] == "budget"
            assert call.audible(), "a goodbye was spoken"
        async with browser(one, {"Cookie": f"caller={call.http.cookies['caller']}"}) as client:
            assert (await client.post("/api/sessions", json={})).status_code == 429


async def test_an_address_is_given_so_many_new_users_a_day_over_both_processes(peer: OfflinePeer) -> None:
    with two_servers(peer, BUDGETS__NEW_USERS_PER_DAY="3") as servers:

        async def visit(number: int) -> httpx2.Response:
            async with browser(servers[number % 2], STRANGER) as client:  # each without a cookie
                return await client.get("/")

        pages = await asyncio.gather(*map(visit, range(6)))
        assert [page.status_code for page in pages] == [200] * 6
        assert sum("set-cookie" in page.headers for page in pages) == 3
        known = next(page.cookies["caller"] for page in pages if "set-cookie" in page.headers)
        async with browser(servers[0], STRANGER) as client:
            refused = await client.post("/api/singleturn", json={"message": "hello"})
            assert refused.status_code == 429 and "new users" in refused.json()["error"]["message"]
            client.cookies.set("caller", known)
            assert (await client.get("/api/tasks")).status_code == 200
            assert (await client.post("/api/tasks", json={"instruction": "look"})).status_code == 202
        async with browser(servers[1], OTHER) as client:
            assert (await client.post("/api/tasks", json={"instruction": "look"})).status_code == 202
