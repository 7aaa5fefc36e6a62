"""`/api/input` and `/api/status` of the whole server, as its users start it, with a Redis of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from backend.coordinator.store import INPUT_CHARS
from backend.http.app import MESSAGES_PER_MINUTE
from backend.storage.client import connect
from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.running_server import RunningServer, a_browser, running_server
from tests.support.waiting import until

IDLE = {
    "enabled": True,
    "state": "idle",
    "inputs_waiting": 0,
    "results_waiting": 0,
    "digests": 0,
    "failed": 0,
    "invalid_actions": 0,
    "last_digest": {"id": "", "last_at": 0.0, "decision": "", "failure": ""},
}


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@pytest.fixture(scope="module")
def running(peer: OfflinePeer, redis: RedisProcess) -> Iterator[RunningServer]:
    """With nobody who works on tasks, so that what a digest begins stays as it was begun."""
    settings = {"REDIS_URL": redis.url, "BACKGROUND__WORKER": "off", "COORDINATOR__GATHER_S": "0.6"}
    with running_server(peer, **settings) as running:
        yield running


def deciding(action: str, words: str, **arguments: str) -> dict[str, Any]:
    """The script of a model that calls an action, and says these words from then on."""
    return {"chat": [{"calls": [{"name": action, "arguments": arguments}]}, {"text": words}]}


async def status_of(browser: httpx2.AsyncClient) -> dict[str, Any]:
    """What it is, once Redis answers: on a busy machine it may be out of reach for a moment."""
    await until(lambda: _answers(browser), 10)
    response = await browser.get("/api/status")
    assert response.status_code == 200, response.text
    status: dict[str, Any] = response.json()
    return status


async def thought_about(browser: httpx2.AsyncClient, digests: int) -> dict[str, Any]:
    """The status once so many digests are over."""

    async def over() -> bool:
        return bool((await status_of(browser))["coordinator"]["digests"] == digests)

    await until(over, 20)
    return await status_of(browser)


async def test_whoever_has_said_nothing_is_shown_an_idle_coordinator(running: RunningServer) -> None:
    async with a_browser(running) as browser:
        assert await status_of(browser) == {"coordinator": IDLE, "notices": [], "tasks": []}


async def test_an_input_gathers_is_thought_about_and_shown_and_leaves_with_its_user(
    peer: OfflinePeer, running: RunningServer, redis: RedisProcess
) -> None:
    told = "I have begun to look into how bees sleep."
    await peer.follow(deciding("create_task", told, kind="research", instruction="Research how bees sleep."))
    async with a_browser(running) as browser, a_browser(running) as stranger:
        await status_of(browser)
        sent = await browser.post("/api/input", json={"text": "  Research how bees sleep.  "})
        assert (sent.status_code, sent.json()) == (202, {"ok": True})
        gathering = (await status_of(browser))["coordinator"]
        assert (gathering["state"], gathering["inputs_waiting"], gathering["digests"]) == ("gathering", 1, 0)

        shown = await thought_about(browser, 1)
        about = shown["coordinator"]
        assert (about["state"], about["inputs_waiting"], about["failed"], about["invalid_actions"]) == ("idle", 0, 0, 0)
        assert (about["last_digest"]["decision"], about["last_digest"]["failure"]) == (told, "")
        assert [(notice["kind"], notice["text"]) for notice in shown["notices"]] == [("decision", told)]
        assert [(t["kind"], t["instruction"], t["state"]) for t in shown["tasks"]] == [
            ("research", "Research how bees sleep.", "queued")
        ]
        assert (await browser.get("/api/me/notices")).json()["notices"][0]["text"] == told
        assert await status_of(stranger) == {"coordinator": IDLE, "notices": [], "tasks": []}

        kept = (await browser.get("/api/me/export")).json()["coordinator"]
        assert [thought["kind"] for thought in kept["history"]] == ["input", "decision"]
        user = _user(browser)
        assert (await browser.delete("/api/me")).status_code == 200
        client = connect(redis.url)
        assert await client.keys(f"*{user}*") == []
        await client.aclose()


async def test_two_digests_of_a_user_keep_their_distance(peer: OfflinePeer, running: RunningServer) -> None:
    words = "Well done, I love it."
    await peer.follow(deciding("capture_feedback", "Thank you, I have noted that.", feeling="praise", text=words))
    async with a_browser(running) as browser:
        await status_of(browser)
        await browser.post("/api/input", json={"text": words})
        first = await thought_about(browser, 1)
        assert [notice["text"] for notice in first["notices"]] == ["Thank you, I have noted that."]
        kept = (await browser.get("/api/me/export")).json()["coordinator"]["feedback"]
        assert [(note["feeling"], note["text"]) for note in kept] == [("praise", words)]
        await browser.post("/api/input", json={"text": "Research how ants sleep."})
        await until(lambda: _is(browser, "gathering"))
        shown = (await status_of(browser))["coordinator"]
        assert shown["digests"] == 1 and shown["inputs_waiting"] == 1


async def test_what_is_no_input_is_refused_with_advice(running: RunningServer) -> None:
    async with a_browser(running) as browser:
        for body in ({}, {"text": "   "}, {"text": "x" * (INPUT_CHARS + 1)}, {"text": ["a"]}):
            refused = await browser.post("/api/input", json=body)
            assert refused.status_code == 422 and refused.json()["error"]["hint"], body


async def test_who_says_too_much_is_told_to_wait(running: RunningServer) -> None:
    async with a_browser(running) as browser:
        await status_of(browser)
        answers = [
            (await browser.post("/api/input", json={"text": "What a day."})).status_code
            for _ in range(MESSAGES_PER_MINUTE + 5)
        ]
        assert answers[:MESSAGES_PER_MINUTE] == [202] * MESSAGES_PER_MINUTE and 429 in answers
        async with a_browser(running) as another:
            assert (await another.post("/api/input", json={"text": "What a day."})).status_code == 202


async def test_without_redis_both_say_so_and_recover(running: RunningServer, redis: RedisProcess) -> None:
    async with a_browser(running) as browser:
        await status_of(browser)
        redis.freeze()
        try:
            for answer in (await browser.get("/api/status"), await browser.post("/api/input", json={"text": "Hello."})):
                assert answer.status_code == 503 and answer.json()["error"]["message"]
        finally:
            redis.thaw()
        await until(lambda: _answers(browser), 10)


async def _is(browser: httpx2.AsyncClient, state: str) -> bool:
    return bool((await status_of(browser))["coordinator"]["state"] == state)


async def _answers(browser: httpx2.AsyncClient) -> bool:
    return (await browser.get("/api/status")).status_code == 200


def _user(browser: httpx2.AsyncClient) -> str:
    (cookie,) = browser.cookies.jar
    return str(cookie.value).strip('"').rsplit(".", 2)[0]
