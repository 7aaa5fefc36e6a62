"""Typed turns on two servers over one Redis: a conversation answers one message at a time."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from redis.asyncio import Redis

from backend.chat.turn import ChatRequest
from backend.chat.turn_claims import LEASE_S, TurnClaims
from backend.storage.client import connect
from backend.storage.memory import Memory
from backend.storage.pubsub import PubSub
from tests.http.test_chat import say
from tests.http.world import World, message_of, world
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.waiting import until


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@asynccontextmanager
async def server(redis: RedisProcess, folder: Path, name: str, scenes: Sequence[Any]) -> AsyncIterator[World]:
    """Run a server with a model of its own over the shared Redis."""
    async with AsyncExitStack() as stack:
        client, waiting = connect(redis.url), connect(redis.url, waiting=True)
        stack.push_async_callback(client.aclose)
        stack.push_async_callback(waiting.aclose)
        pubsub = PubSub(client, waiting)
        claims = TurnClaims(client, name, pubsub)
        pubsub.start()
        stack.push_async_callback(pubsub.close)
        assert await pubsub.wait_until_open(5.0)
        made = world(folder, scenes=scenes, memory=Memory(client), claims=claims, page=False)
        yield await stack.enter_async_context(made)


@asynccontextmanager
async def two(
    redis: RedisProcess, folder: Path, here: Sequence[Any], there: Sequence[Any] = ()
) -> AsyncIterator[tuple[World, World, httpx2.AsyncClient, httpx2.AsyncClient]]:
    """Run two servers, with a client of the same user for each."""
    async with (
        server(redis, folder, "here", here) as one,
        server(redis, folder, "there", there) as other,
        one.browser() as browser,
    ):
        await browser.get("/mode")
        async with other.browser(cookies={"caller": browser.cookies["caller"]}) as elsewhere:
            yield one, other, browser, elsewhere


def asking(browser: httpx2.AsyncClient, text: str, **body: Any) -> asyncio.Task[httpx2.Response]:
    return asyncio.create_task(
        browser.post("/api/multiturn", json={"message": text, "conversation_id": "c1"} | body, timeout=20)
    )


async def test_a_busy_conversation_is_busy_at_both_servers_until_its_answer_ends(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with two(redis, tmp_path, [["One", 2.0, "."]], [["Two."]]) as (here, _, browser, elsewhere):
        first = asking(browser, "Hello.")
        await until(lambda: bool(here.model.requests), 10)
        refused = await elsewhere.post("/api/multiturn", json={"message": "And?", "conversation_id": "c1"})
        assert refused.status_code == 409 and message_of(refused)
        assert (await elsewhere.get("/api/conversations/c1")).json()["busy"] is True
        assert (await first).json()["text"] == "One."
        assert (await say(elsewhere, "And?", conversation_id="c1"))["text"] == "Two."
        assert (await elsewhere.get("/api/conversations/c1")).json()["busy"] is False


async def test_the_other_server_can_cancel_a_turn(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path, [["One", 30.0, "."]], [["Two."]]) as (here, _, browser, elsewhere):
        first = asking(browser, "Hello.")
        await until(lambda: bool(here.model.requests), 10)
        began = time.monotonic()
        assert (await elsewhere.post("/api/conversations/c1/cancel")).json() == {"cancelled": True}
        reply = (await first).json()
        assert (reply["state"], time.monotonic() - began < 10) == ("cancelled", True)
        assert (await elsewhere.post("/api/conversations/c1/cancel")).json() == {"cancelled": False}
        assert (await say(elsewhere, "And?", conversation_id="c1"))["text"] == "Two."


async def test_a_retry_at_the_other_server_gets_409_and_later_the_stored_answer(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with two(redis, tmp_path, [["One", 2.0, "."]]) as (here, there, browser, elsewhere):
        first = asking(browser, "Hello.", message_id="m1")
        await until(lambda: bool(here.model.requests), 10)
        assert (await asking(elsewhere, "Hello.", message_id="m1")).status_code == 409
        assert (await first).json() == (await asking(elsewhere, "Hello.", message_id="m1")).json()
        assert there.model.requests == []
        assert (await asking(elsewhere, "Something else.", message_id="m1")).status_code == 422


async def test_deleting_a_conversation_cancels_its_answer_at_the_other_server(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with two(redis, tmp_path, [["One", 30.0, "."]]) as (here, _, browser, elsewhere):
        first = asking(browser, "Hello.")
        await until(lambda: bool(here.model.requests), 10)
        assert (await elsewhere.delete("/api/conversations/c1")).json() == {"ok": True}
        assert (await first).json()["state"] == "cancelled"
        assert (await elsewhere.get("/api/conversations/c1")).status_code == 404


async def test_another_user_can_neither_see_nor_cancel_a_turn(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path, [["One", 2.0, "."]], [["Mine."]]) as (here, there, browser, _):
        first = asking(browser, "Hello.")
        await until(lambda: bool(here.model.requests), 10)
        async with there.browser() as stranger:
            assert (await stranger.post("/api/conversations/c1/cancel")).json() == {"cancelled": False}
            assert (await say(stranger, "Hello.", conversation_id="c1"))["text"] == "Mine."
        assert (await first).json()["text"] == "One."


async def test_the_turn_claim_of_a_dead_server_expires(redis: RedisProcess, tmp_path: Path) -> None:
    now = [1_000.0]
    client = connect(redis.url)
    dead, heir = TurnClaims(client, "dead", clock=lambda: now[0]), TurnClaims(client, "heir", clock=lambda: now[0])
    former, later = (ChatRequest("ada", "Hello.", "c1", message_id=each) for each in ("m1", "m2"))
    assert await dead.claim(former)
    assert not await heir.claim(later) and await heir.running("ada") == ["c1"]
    now[0] += LEASE_S + 0.1
    assert await heir.running("ada") == [] and await heir.claim(later)
    await dead.release(former)
    assert await dead.running("ada") == ["c1"], "the claim of the heir was released"
    await heir.release(later)
    assert await client.exists("user:ada:turns") == 0
    await client.aclose()


async def test_one_of_many_parallel_claims_succeeds(redis: RedisProcess) -> None:
    client: Redis = connect(redis.url)
    claims = [TurnClaims(client, f"p{number}").claim(ChatRequest("bo", "Hello.", "c1")) for number in range(12)]
    assert sum(await asyncio.gather(*claims)) == 1
    await client.aclose()


async def test_a_server_answers_without_redis_and_reports_the_lost_history(tmp_path: Path) -> None:
    with running_redis() as own:
        async with two(own, tmp_path, [["One."], ["Two."]]) as (_, _, browser, _):
            assert (await say(browser, "Hello.", conversation_id="c1"))["history"] == "kept"
            own.kill()
            assert (await say(browser, "Hello?", conversation_id="c1"))["history"] == "unavailable"
