"""Notes through the whole server without a model: made, listed and done by text, shown when due, and erased."""

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


async def test_a_note_is_kept_shown_once_a_conversation_when_it_is_due_and_erased() -> None:
    with running_redis() as server, running_server(REDIS_URL=server.url) as running:
        redis = connect(server.url)
        async with a_browser(running) as ana, a_browser(running) as bob:
            await bob.get("/api/config")
            noted = await say(ana, "Make a note to call the plumber tomorrow at nine.")
            assert noted.startswith("I have noted: call the plumber, for ") and noted.endswith("at 09:00.")
            assert "call the plumber" in await say(ana, "What are my notes?")
            assert await say(bob, "What are my notes?") == "You have no open notes."
            await come_due(redis)
            await say(ana, "What's on my calendar tomorrow?")
            await say(ana, "What's on my calendar on Friday?")
            await say(bob, "What's on my calendar tomorrow?")
            async with placed_call(running, transport="ws", browser=ana) as call:
                headers = {"authorization": f"Bearer {call.ticket.token}"}
                body = {"text": "What's on my calendar tomorrow?"}
                await call.http.post(f"/api/sessions/{call.ticket.session_id}/messages", json=body, headers=headers)
                await call.told("thinker", within_s=20.0, event="complete")
            assert {note["text"]: len(note["told"]) for note in await exported(ana)} == {"call the plumber": 2}
            assert await say(ana, "That's done.") == "Good, that is off your notes: call the plumber."
            assert await exported(bob) == []
            assert (await ana.delete("/api/me")).status_code == 200
            assert await exported(ana) == [] and await redis.keys("user:*:notes") == []
        await redis.aclose()
