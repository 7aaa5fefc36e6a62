"""Notes through the whole server with no key: made by text, brought up by text and by voice, exported and erased."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from redis.asyncio import Redis

from backend.storage.client import connect
from tests.support.redis_server import running_redis
from tests.support.running_server import a_browser, placed_call, running_server


async def say(http: httpx2.AsyncClient, text: str, conversation: str = "trip") -> str:
    """What a typed turn is answered."""
    response = await http.post("/api/multiturn", json={"message": text, "conversation_id": conversation}, timeout=20)
    assert response.status_code == 200, response.text
    return str(response.json()["text"])


async def exported(http: httpx2.AsyncClient) -> list[dict[str, Any]]:
    notes: list[dict[str, Any]] = (await http.get("/api/me/export")).json()["notes"]
    return notes


async def come_due(redis: Redis) -> None:
    """The one note there is was due an hour after it was made, long ago."""
    [key] = await redis.keys("user:*:notes")
    [note] = json.loads(await redis.get(key) or "")
    await redis.set(key, json.dumps([note | {"due": "2020-01-01T10:00:00", "timed": 1.0, "told": []}]))


async def test_a_note_comes_up_when_it_is_due_wherever_its_user_talks() -> None:
    with running_redis() as server, running_server(REDIS_URL=server.url) as running:
        redis = connect(server.url)
        async with a_browser(running) as ana, a_browser(running) as bob:
            await bob.get("/api/config")
            noted = await say(ana, "Make a note to call the plumber tomorrow at nine.")
            assert noted.startswith("I have noted: call the plumber, for ") and noted.endswith("at 09:00.")
            assert "call the plumber" in await say(ana, "What are my notes?")
            assert await say(bob, "What are my notes?") == "You have no open notes."
            assert "Monday" in await say(ana, "Snooze it until Monday.")
            assert "By the way" not in await say(ana, "What is the capital of France?")
            await come_due(redis)
            told = "By the way, you have noted: call the plumber."
            assert await say(ana, "What is the capital of Spain?") == f"The capital of Spain is Madrid. {told}"
            assert "By the way" not in await say(ana, "What is the capital of Italy?")
            assert "By the way" not in await say(bob, "What is the capital of Spain?")
            async with placed_call(running, transport="ws", browser=ana) as call:
                headers = {"authorization": f"Bearer {call.ticket.token}"}
                body = {"text": "What is the capital of Spain?"}
                await call.http.post(f"/api/sessions/{call.ticket.session_id}/messages", json=body, headers=headers)
                await call.told("thinker", within_s=20.0, event="complete")
            assert {note["text"]: len(note["told"]) for note in await exported(ana)} == {"call the plumber": 2}
            assert await say(ana, "That's done.") == "Good, that is off your notes: call the plumber."
            assert await exported(bob) == []
            assert (await ana.delete("/api/me")).status_code == 200
            assert await exported(ana) == [] and await redis.keys("user:*:notes") == []
        await redis.aclose()
