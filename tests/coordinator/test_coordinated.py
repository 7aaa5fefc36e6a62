"""The coordinator in real processes (a server, a worker, one Redis) makes a task of an input and speaks its result.

The server is killed with `kill -9` while it speaks.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from backend.testing.services.server import Reply, Request, serving
from tests.support.chat_api import ended, error, stream, words
from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call, running_server
from tests.support.waiting import until
from tests.support.workers import running_worker

pytestmark = pytest.mark.realtime

HELLO: dict[str, Any] = {
    "turns": [{"hear": "hello there", "reply": {"text": "Hello.", "tone": {"hz": 440, "ms": 300}}}],
    "loop": True,
}
BRIEFLY: dict[str, Any] = HELLO | {"purposes": {"notice": {"text": "It is done.", "tone": {"hz": 300, "ms": 800}}}}
BEGUN = "I have begun to look into how cities cut their traffic."
DONE = "Done: Research how cities cut their traffic."
WISH = {"kind": "research", "instruction": "Research how cities cut their traffic."}
DECIDING: dict[str, Any] = {
    "chat": [{"calls": [{"name": "create_task", "arguments": WISH}]}, {"text": BEGUN}, {"text": DONE}]
}
"""The answers of the model: the decisions of the coordinator."""
AT_LENGTH: dict[str, Any] = {"when_told": {"Tell the news 2.": {"text": DONE, "tone": {"hz": 300, "ms": 15_000}}}}
"""The result is spoken for so long that the server dies in mid-sentence, however late the test sees that it began."""
SETTINGS = {"SECRET_KEY": "k" * 32, "IDLE_NUDGE_S": "0", "IDLE_DISCONNECT_S": "0"}


@pytest.fixture
def redis() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


async def greeted(call: PlacedCall) -> None:
    """Say hello, and wait for the answer."""
    await asked(call, "hello there")
    await call.event("transcript", within_s=20.0, role="assistant", content="Hello.")


async def asked(call: PlacedCall, text: str) -> None:
    """Type something into the call."""
    sent = await call.http.post(
        f"/api/sessions/{call.ticket.session_id}/messages",
        json={"text": text},
        headers={"authorization": f"Bearer {call.ticket.token}"},
    )
    assert sent.status_code == 202, sent.text


async def decided(call: PlacedCall, words: str) -> dict[str, Any]:
    """Wait until the page shows a decision with these words."""
    found: list[dict[str, Any]] = []

    def there() -> bool:
        found[:] = [data for data in call.events_of("decision") if words in data["text"]]
        return bool(found)

    await until(there, 60)
    return found[0]


async def status_of(browser: httpx2.AsyncClient) -> dict[str, Any]:
    status: dict[str, Any] = (await browser.get("/api/status")).raise_for_status().json()
    return status


@pytest.mark.slow
async def test_the_result_of_an_input_is_spoken_even_if_the_server_dies_in_mid_sentence(
    peer: OfflinePeer, redis: RedisProcess
) -> None:
    await peer.follow(HELLO | DECIDING | AT_LENGTH)
    # The interval delays greetings, but not results. A digest of a greeting would use up one of the answers.
    shared = SETTINGS | {"REDIS_URL": redis.url, "COORDINATOR__MIN_INTERVAL_S": "3600"}
    with ExitStack() as stack:
        stack.enter_context(running_worker(peer, REDIS_URL=redis.url, COORDINATOR__MIN_INTERVAL_S="3600"))
        first = stack.enter_context(running_server(peer, BACKGROUND__WORKER="off", **shared))
        async with a_browser(first) as browser:
            cookies = browser.cookies
            try:
                async with placed_call(first, transport="ws", browser=browser) as call:
                    await greeted(call)
                    said = await browser.post("/api/input", json={"text": "Research how cities cut their traffic."})
                    assert said.status_code == 202
                    begun = await decided(call, BEGUN)
                    assert (begun["actions"], begun["tasks"], begun["failure"]) == (["create_task"], [], "")
                    await call.event("notice", within_s=20, state="told", id=f"decision-{begun['id']}")
                    assert any(BEGUN in data["content"] for data in call.events_of("transcript"))

                    done = await decided(call, DONE)
                    [task] = (await status_of(browser))["tasks"]
                    assert done["tasks"] == [task["id"]] and done["actions"] == []
                    await call.event("notice", within_s=20, state="speaking", id=f"decision-{done['id']}")
                    os.kill(first.pid, signal.SIGKILL)
            except (httpx2.HTTPError, OSError):
                pass  # the server is gone, so the hang-up fails
        second = stack.enter_context(running_server(peer, BACKGROUND__WORKER="off", **shared))
        await peer.follow(BRIEFLY)
        await _told_once_more(peer, second, cookies, f"decision-{done['id']}")


async def _told_once_more(peer: OfflinePeer, running: RunningServer, cookies: httpx2.Cookies, notice: str) -> None:
    """Assert that the next call speaks the interrupted notice, and that a typed turn can ask about it later."""
    async with a_browser(running) as browser:
        for cookie in cookies.jar:
            browser.cookies.set(cookie.name, cookie.value or "")
        assert [each["id"] for each in (await status_of(browser))["notices"]] == [notice]
        async with placed_call(running, transport="ws", browser=browser) as call:
            await greeted(call)
            await call.event("notice", within_s=25, state="told", id=notice)
            assert call.audible()
            status = await status_of(browser)
            assert [note["id"] for note in await decisions(browser)].count(notice) == 1, (
                "there are two decisions about the result"
            )
            assert [(task["state"], task["attempts"]) for task in status["tasks"]] == [("done", 1)]
            await until(lambda: _nothing_waits(browser))
            # The call must still be live: a summary at its end would use up the first of these answers.
            asking = {"domain": "tasks", "query": "What about that research?"}
            calls = [
                {"calls": [{"name": "route_to_thinker", "arguments": asking}]},
                {"calls": [{"name": "background_tasks", "arguments": {"action": "get"}}]},
                {"text": "The traffic is less."},
            ]
            await peer.follow({"chat": calls})
            said = await browser.post("/api/multiturn", json={"message": "What about that research?"}, timeout=20)
            assert said.json()["thinkers"] == ["tasks"] and "traffic" in said.json()["text"], said.text


async def decisions(browser: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Return the stored decisions about this user."""
    kept = (await browser.get("/api/me/export")).raise_for_status().json()["coordinator"]["history"]
    return [thought for thought in kept if thought["kind"] == "decision"]


async def _nothing_waits(browser: httpx2.AsyncClient) -> bool:
    return not (await status_of(browser))["notices"]


@pytest.mark.document("003", "fallback and archive")
async def test_the_coordinator_falls_back_from_its_own_model_to_that_of_the_thinkers(
    redis: RedisProcess,
) -> None:
    asked = list[str]()

    def answer(request: Request) -> Reply:
        asked.append(request.json()["model"])
        if asked[-1] == "boss":
            return error(404, "model_not_found")
        return stream([*words("The bees say hello."), *ended()])

    async with serving(answer) as api:
        settings = SETTINGS | {"REDIS_URL": redis.url, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{api.url}/v1"}
        settings |= {"COORDINATOR__MODEL": "boss", "THINKER_MODEL": "everyday"}
        with ExitStack() as stack:
            server = await asyncio.to_thread(stack.enter_context, running_server(None, **settings))
            async with a_browser(server) as browser:
                await status_of(browser)
                await browser.post("/api/input", json={"text": "How are the bees?"})

                async def decided_on() -> bool:
                    return bool(await decisions(browser))

                await until(decided_on, 60)
                [decision] = await decisions(browser)
    assert decision["text"] == "The bees say hello."
    assert asked == ["boss", "everyday"]
