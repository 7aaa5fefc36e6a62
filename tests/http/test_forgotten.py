"""`DELETE /api/me` leaves nothing of a user in the whole database, whatever they did before.

`KEPT` lists every kind of key of a user. Code that keeps something new adds its kind here, and the test erases it.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, cast

import httpx2
import pytest
from redis.asyncio import Redis

from backend.coordinator.store import CoordinatorState, Feedback
from backend.storage.client import connect
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import ModelCallLog
from backend.testing.memory import FakeMemory
from tests.support.redis_server import running_redis
from tests.support.running_server import RunningServer, a_browser, placed_call, running_server
from tests.support.waiting import until

SAID = "Zebulon"
"""A word in everything that this user sends, and in nothing else."""
WITHIN_S = 160
"""The seconds that the test may take; a timeout shows in its traceback what it waited for."""
SETTINGS = {"SHARE_SESSIONS": "true", "SECRET_KEY": "k" * 32}
SETTINGS |= {"COORDINATOR__MIN_INTERVAL_S": "0.2"}
KEPT = {
    "calls",
    "context",
    "owned",
    "conversation:*",
    "cache:*",
    "memories",
    "notices",
    "teller",
    "turns",
    "reminders",
    "tasks",
    "task:*",
    "archives",
    "inbox",
    "coordinator",
    "thoughts",
    "feedback",
    "digest",
    "digests",
}
PASSING = {"notices:told"}
"""Kinds that exist for a moment only, or only after a spoken notice."""
WRITTEN = KEPT - {"digest", "coordinator", "inbox", "task:*", "teller", "notices"}
"""Kinds that the test must see; the others exist for a moment only."""


@pytest.mark.timeout(WITHIN_S + 20)
async def test_an_erasure_leaves_nothing_of_a_user_who_used_everything() -> None:
    with running_redis() as server, running_server(None, REDIS_URL=server.url, **SETTINGS) as running:
        redis = connect(server.url)
        async with asyncio.timeout(WITHIN_S), a_browser(running) as ana, a_browser(running) as bob:
            seen, enough = set[str](), asyncio.Event()
            watching = asyncio.create_task(_watch(redis, seen, enough))
            done = await _do_everything(running, ana)
            user = await _only_user(redis)
            await _as_a_model_would(redis, user)
            assert await redis.keys("task:*") and await redis.keys("session:*")
            await _say(bob, "My name is Bob.")
            await until(lambda: _there(redis, "user:*:context", 2), 30)
            enough.set()
            await watching
            assert seen <= KEPT | PASSING, f"new kinds of keys: {seen - KEPT - PASSING}"
            assert seen >= WRITTEN, f"this test no longer makes {WRITTEN - seen}"

            assert (await ana.delete("/api/me")).status_code == 200
            assert await _left_of(redis, [user, SAID], done) == []
            await asyncio.sleep(1.5)  # running work may not write it again
            assert await _left_of(redis, [user, SAID], done) == []
            assert await redis.keys("user:*:context"), "the other user was erased, too"
        await redis.aclose()


async def _as_a_model_would(redis: Redis, user: str) -> None:
    """Store what only the work of a language model stores: feedback, and a log of model calls."""
    await CoordinatorState(redis).add_feedback(user, "1-0", Feedback(f"pleased with {SAID}"))
    outbox = Outbox(FakeMemory())
    log = ModelCallLog(redis, outbox)
    with log.scope("digest-1", user):
        log.add({"model": "m", "text": SAID})
    await outbox.drain(5.0)


async def _do_everything(running: RunningServer, http: httpx2.AsyncClient) -> tuple[str, ...]:
    """Use everything that stores data of a user; return the ids of the task and the sessions."""
    reserved = await _post(http, "/api/sessions", {})
    await _say(http, f"My name is {SAID}.")
    await _say(http, f"Remember that my cat is called {SAID}.")
    await _say(http, f"Make a note to call {SAID} tomorrow at nine.")
    await _say(http, f"Remind me in ten minutes to water {SAID}.")
    task = await _post(http, "/api/tasks", {"kind": "research", "instruction": f"How does {SAID} sleep?"})
    await _post(http, "/api/input", {"text": f"Well done, I love it, {SAID}."})
    facts = {"changes": [{"op": "add_fact", "text": f"lives with {SAID}"}]}
    assert (await http.patch("/api/me", json=facts)).status_code == 200
    async with placed_call(running, browser=http) as call:
        await _post(
            http,
            f"/api/sessions/{call.ticket.session_id}/messages",
            {"text": f"Hello from {SAID}"},
            {"authorization": f"Bearer {call.ticket.token}"},
        )
        await call.event("transcript", within_s=20.0, role="assistant")
    await until(lambda: _is_done(http), 60)
    return task["id"], reserved["session_id"], call.ticket.session_id


async def _say(http: httpx2.AsyncClient, text: str) -> None:
    answer = await http.post("/api/multiturn", json={"message": text, "conversation_id": "all"}, timeout=20)
    assert answer.status_code == 200, answer.text


async def _post(
    http: httpx2.AsyncClient, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
) -> dict[str, Any]:
    answer = await http.post(path, json=body, headers=headers, timeout=20)
    assert answer.status_code in (200, 201, 202), answer.text
    return cast(dict[str, Any], answer.json())


async def _is_done(http: httpx2.AsyncClient) -> bool:
    """Return whether the task has ended and the coordinator has digested it."""
    shown = (await http.get("/api/status")).json()
    ended = all(task["state"] in ("done", "failed") for task in shown["tasks"])
    return (
        bool(shown["tasks"])
        and ended
        and shown["coordinator"]["digests"] > 0
        and not (shown["coordinator"]["inputs_waiting"] + shown["coordinator"]["results_waiting"])
    )


async def _watch(redis: Redis, seen: set[str], enough: asyncio.Event) -> None:
    """Collect every kind of key of users."""
    while not enough.is_set():
        async for key in redis.scan_iter("user:*"):
            seen.add(_kind(key.decode()))
        await asyncio.sleep(0.02)


def _kind(key: str) -> str:
    """Return the kind of a key: `user:ana:conversation:c1` → `conversation:*`."""
    name = key.split(":", 2)[2]
    return re.sub(r"^(conversation|cache|task):.*$", r"\1:*", name)


async def _there(redis: Redis, pattern: str, count: int) -> bool:
    return len(await redis.keys(pattern)) == count


async def _only_user(redis: Redis) -> str:
    [user] = {cast(bytes, key).decode().split(":")[1] for key in await redis.keys("user:*")}
    return user


async def _left_of(redis: Redis, words: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the keys with one of the words or ids in their name or value."""
    left = []
    async for key in redis.scan_iter():
        held = f"{key.decode()} {await _value(redis, key)!r}"
        if any(word in held for word in [*words, *ids]):
            left.append(held[:300])
    return left


async def _value(redis: Any, key: bytes) -> Any:
    match await redis.type(key):
        case b"string":
            return await redis.get(key)
        case b"list":
            return await redis.lrange(key, 0, -1)
        case b"set":
            return await redis.smembers(key)
        case b"zset":
            return await redis.zrange(key, 0, -1)
        case b"hash":
            return await redis.hgetall(key)
        case b"stream":
            return await redis.xrange(key)
        case other:
            raise AssertionError(f"{key!r} is a {other!r}")
