"""Signing in gives the user all that the visitor had: whatever is exported, and nothing stays under the old id."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx2
import pytest
from redis.asyncio import Redis

from backend.coordinator.store import CoordinatorState, Feedback, HistoryEntry, Plan
from backend.notifications.notices import Notice, NoticeRepository
from backend.storage.client import connect
from backend.users.memories import Memories
from tests.http.test_sign_in import sign_in
from tests.support.of_extensions import of_extensions
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.openid_provider import CLIENT, openid_provider
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.running_server import RunningServer, a_browser, running_server

NOT_GIVEN = {"payer", "confirmations", "calls"}
"""What holds for one person only, and calls, which end."""


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with openid_provider(ada={}, ben={}) as address:
        yield address


@pytest.fixture
def redis_server() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server


def server_for(issuer: str, redis_server: RedisProcess, peer: OfflinePeer | None = None, **more: str) -> Any:
    oidc = {"OIDC__ISSUER": issuer, "OIDC__CLIENT_ID": CLIENT, "OIDC__CLIENT_SECRET": "of the tests"}
    return running_server(peer, ACCESS="open,oidc", REDIS_URL=redis_server.url, **oidc, **more)


def looking_at(redis_server: RedisProcess) -> aclosing[Redis]:
    return aclosing(connect(redis_server.url))


async def user_of(browser: httpx2.AsyncClient) -> str:
    """The user that the server takes this browser for."""
    await browser.get("/api/me")
    value = next(cookie.value for cookie in browser.cookies.jar if cookie.name == "caller")
    return str(value).strip('"').rsplit(".", 2)[0]


async def exported(browser: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await browser.get("/api/me/export")
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name not in NOT_GIVEN}


async def fill(browser: httpx2.AsyncClient, server: RunningServer, redis: Redis) -> str:
    """Leave something in every store as a visitor; returns the visitor's id."""
    visitor = await user_of(browser)
    said = await browser.post("/api/multiturn", json={"message": "Hello.", "conversation_id": "c1"}, timeout=30)
    assert said.status_code == 200
    changes = [{"op": "add_fact", "text": "has a dog"}, {"op": "set_preference", "name": "name", "value": "Ada"}]
    assert (await browser.patch("/api/me", json={"changes": changes})).status_code == 200
    begun = await browser.post("/api/tasks", json={"instruction": "Why is the sky blue?"})
    assert begun.status_code == 202, begun.text

    deadline = time.monotonic() + 40
    while (await browser.get(f"/api/tasks/{begun.json()['id']}")).json()["state"] != "done":
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    reminder = {"text": "tea", "at": (datetime.now(UTC) + timedelta(days=1)).isoformat()}
    assert (await browser.post("/notification", json=reminder)).status_code == 201
    await NoticeRepository(redis).add(visitor, Notice("n1", "It is done."))
    await Memories(redis).add(visitor, "likes tea")
    state = CoordinatorState(redis)
    await state.add_history(visitor, [HistoryEntry("1-0", 1.0, "input", "Why?")])
    await state.add_feedback(visitor, "1-0", Feedback("pleased"))
    await state.finish(visitor, Plan("1-0", 1.0, ("1-0",), decision="told"))
    for module in of_extensions("filling"):
        await module.fill(server.folder / "var", redis, visitor)
    return visitor


async def left_of(redis: Redis, visitor: str) -> list[str]:
    """Every key whose name holds the visitor's id, but for what expires within minutes."""
    names = [name.decode() for name in cast(list[bytes], await redis.keys("*"))]
    return [name for name in names if visitor in name and not name.endswith((":pages", ":turns"))]


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_everything_that_is_exported_is_moved(issuer: str, redis_server: RedisProcess, workers: str) -> None:
    alone = {"WORKERS": workers, "COORDINATOR__ENABLED": "false"}
    with running_peer() as peer, server_for(issuer, redis_server, peer, **alone) as server:
        await peer.follow({"chat": [{"text": "Blue light is scattered most."}]})
        async with looking_at(redis_server) as redis, a_browser(server) as browser:
            visitor = await fill(browser, server, redis)
            before = await exported(browser)
            assert all(before.values()), f"fill this store above: {[n for n, v in before.items() if not v]}"
            await sign_in(browser, "ada")
            user = await user_of(browser)
            assert user != visitor
            after = await exported(browser)
            renamed = str(before["memory"]).replace(visitor, user)
            assert str(after["memory"]) == renamed
            for name in before.keys() - {"memory", "coordinator"}:
                assert after[name] == before[name], name
            entries = ("kind", "text", "task_id")
            assert [[e[k] for k in entries] for e in after["coordinator"].pop("waiting")] == [
                [e[k] for k in entries] for e in before["coordinator"].pop("waiting")
            ]
            assert after["coordinator"] == before["coordinator"]
            assert await left_of(redis, visitor) == []


async def test_the_visitors_cookie_opens_nothing_after_the_merge(issuer: str, redis_server: RedisProcess) -> None:
    with server_for(issuer, redis_server) as server:
        async with looking_at(redis_server) as redis, a_browser(server) as browser:
            visitor = await user_of(browser)
            kept = next(cookie.value for cookie in browser.cookies.jar if cookie.name == "caller")
            await Memories(redis).add(visitor, "buy milk")
            await sign_in(browser, "ada")
            await Memories(redis).add(visitor, "written late")
            async with a_browser(server) as thief:
                answer = await thief.get("/api/me/export", headers={"cookie": f"caller={kept}"})
                assert not answer.json()["memories"]
                assert visitor not in answer.headers["set-cookie"], "a stranger, who gets an id of their own"


async def test_an_erasure_reaches_what_the_visitor_still_wrote(issuer: str, redis_server: RedisProcess) -> None:
    with server_for(issuer, redis_server) as server:
        async with looking_at(redis_server) as redis, a_browser(server) as browser:
            visitor = await user_of(browser)
            await sign_in(browser, "ada")
            await Memories(redis).add(visitor, "written late")
            assert (await browser.delete("/api/me", timeout=15)).status_code == 200
            assert await left_of(redis, visitor) == []
