"""Notes through the whole server without a model: made, listed and done by text, shown when due, and erased."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
from redis.asyncio import Redis

from backend.storage.client import connect
from tests.support.redis_server import running_redis
from tests.support.running_server import a_browser, running_server
from tests.support.waiting import until


async def say(http: httpx2.AsyncClient, text: str, conversation: str = "trip") -> str:
    """What a typed turn is answered."""
    response = await http.post("/api/multiturn", json={"message": text, "conversation_id": conversation}, timeout=20)
    assert response.status_code == 200, response.text
    return str(response.json()["text"])


async def come_due(redis: Redis) -> None:
    """The one note there is became due a moment ago."""
    [key] = await redis.keys("user:*:reminders")
    stored: Any = await redis.hgetall(key)
    [(note_id, raw)] = stored.items()
    due = json.loads(raw) | {"at": time.time() - 1}
    await redis.hset(key, note_id, json.dumps(due))
    await redis.zadd("reminders:due", {f"{due['owner']} {note_id.decode()}": due["at"]})


async def waits(http: httpx2.AsyncClient) -> bool:
    """Whether a notice waits to be told."""
    return bool((await http.get("/api/me/export")).json()["notices"])


async def test_a_note_is_kept_brought_up_when_it_is_due_and_erased() -> None:
    with running_redis() as server, running_server(REDIS_URL=server.url) as running:
        redis = connect(server.url)
        async with a_browser(running) as ana, a_browser(running) as bob:
            await bob.get("/api/config")
            noted = await say(ana, "Make a note to call the plumber tomorrow at nine.")
            assert noted.startswith("I have noted: call the plumber, for ") and noted.endswith("at 09:00.")
            assert "call the plumber" in await say(ana, "What are my notes?")
            assert await say(bob, "What are my notes?") == "You have no open notes."
            await come_due(redis)
            await until(lambda: waits(ana), 10)
            await say(bob, "What's on my calendar tomorrow?")
            assert await waits(ana)
            await say(ana, "What's on my calendar tomorrow?")
            assert not await waits(ana), "it was brought up"
            assert await say(ana, "That's done.") == "Good, that is off your notes: call the plumber."
            assert (await ana.delete("/api/me")).status_code == 200
            assert await redis.keys("user:*:reminders") == []
        await redis.aclose()
