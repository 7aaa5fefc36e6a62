"""`/api/input` and `/api/status`: each user sees the state of the coordinator for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.coordinator.service import CoordinatorService
from backend.coordinator.store import INPUT_CHARS, INPUTS_LIMIT
from backend.http.app import MESSAGES_PER_MINUTE
from backend.notifications.notices import Notice
from backend.storage.outbox import Outbox
from backend.testing.memory import FakeMemory
from tests.coordinator.world import Process
from tests.coordinator.world import World as Outlives
from tests.http.world import Browser, World, world

IDLE: dict[str, Any] = {
    "enabled": True,
    "state": "idle",
    "inputs_waiting": 0,
    "results_waiting": 0,
    "digests": 0,
    "failed": 0,
    "invalid_actions": 0,
    "last_digest": {"id": "", "last_at": 0.0, "decision": "", "failure": ""},
}


@asynccontextmanager
async def coordinated(directory: Path) -> AsyncIterator[tuple[World, Process]]:
    """Run a server with a coordinator that makes digests on command, and decides that bees dance."""

    async def notices(user_id: str) -> list[Notice]:
        return list(one.world.notified.values())

    async with Process(Outlives(), "one") as one:
        service = CoordinatorService(one.coordinator, Outbox(FakeMemory()), notices)
        services = {"coordinator": service, "user_data": {"coordinator": service}}
        async with world(directory, services_with=services) as here:
            yield here, one


async def status_of(browser: Browser) -> dict[str, Any]:
    response = await browser.get("/api/status")
    assert response.status_code == 200, response.text
    status: dict[str, Any] = response.json()
    return status


@pytest.mark.document("003", "routes")
async def test_an_input_is_shown_until_its_digest_and_erased_with_its_user(tmp_path: Path) -> None:
    async with (
        coordinated(tmp_path) as (here, process),
        here.browser() as browser,
        here.browser() as stranger,
    ):
        assert await status_of(browser) == {"coordinator": IDLE, "notices": [], "tasks": []}
        sent = await browser.post("/api/input", json={"text": "  How do bees sleep?  "})
        assert (sent.status_code, sent.json()) == (202, {"ok": True})
        assert (await status_of(browser))["coordinator"] == IDLE | {"state": "gathering", "inputs_waiting": 1}
        assert (await status_of(stranger))["coordinator"] == IDLE
        [user] = await process.channels.users()
        assert [entry.scope.scope.name for entry in await process.channels.waiting(user)] == ["OPERATOR"]
        assert await process.coordinator.run_digest(user)
        shown = await status_of(browser)
        assert (shown["coordinator"]["state"], shown["coordinator"]["digests"]) == ("idle", 1)
        assert shown["coordinator"]["last_digest"]["decision"] == "Bees dance."
        assert [notice["text"] for notice in shown["notices"]] == ["Bees dance."]
        exported = (await browser.get("/api/me/export")).json()["coordinator"]
        assert [entry["kind"] for entry in exported["history"]] == ["input", "decision"]
        assert (await browser.delete("/api/me")).status_code == 200
        assert await process.redis.keys("user:*") == []


async def test_invalid_inputs_are_refused_and_too_many_are_limited(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as (here, _), here.browser() as browser, here.browser() as another:
        for body in ({}, {"text": "   "}, {"text": "x" * (INPUT_CHARS + 1)}, {"text": ["a"]}):
            refused = await browser.post("/api/input", json=body)
            assert refused.status_code == 422 and refused.json()["error"]["hint"], body
        for _ in range(MESSAGES_PER_MINUTE):
            limited = await browser.post("/api/input", json={"text": "What a day."})
        assert limited.status_code == 429
        assert (await another.post("/api/input", json={"text": "What a day."})).status_code == 202


async def test_an_input_is_refused_when_too_many_wait(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as (here, process), here.browser() as browser:
        await browser.post("/api/input", json={"text": "What a day."})
        [user] = await process.channels.users()
        for number in range(INPUTS_LIMIT - 1):
            await process.channels.add_input(user, f"word {number}", "api")
        used = (await browser.get("/api/me/usage")).json()["user"]["used"]
        refused = await browser.post("/api/input", json={"text": "One more."})
        assert refused.status_code == 429 and refused.headers["retry-after"]
        assert (await browser.get("/api/me/usage")).json()["user"]["used"] == used, "a refused input was charged"


async def test_without_redis_input_and_status_answer_503(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as (here, process), here.browser() as browser:
        process.world.server.connected = False
        for answer in (await browser.get("/api/status"), await browser.post("/api/input", json={"text": "Hello."})):
            assert answer.status_code == 503 and answer.json()["error"]["message"]
