"""Notices in real calls: a serving process, a Redis beside it, and this process as the one that has notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.notices import Notice, NoticeRepository
from backend.storage.client import connect
from backend.storage.pubsub import PubSub
from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

TONE: dict[str, Any] = {"hz": 440, "ms": 300}
ANSWER: dict[str, Any] = {"turns": [{"hear": "hello there", "reply": {"text": "Hello.", "tone": TONE}}], "loop": True}
DONE = Notice("research-1", "The research about bees is done. They dance to show the way.", source="task-1")


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@pytest.fixture(scope="module")
def server(peer: OfflinePeer, redis: RedisProcess) -> Iterator[RunningServer]:
    with running_server(peer, REDIS_URL=redis.url) as running:
        yield running


@asynccontextmanager
async def a_dispatcher(redis: RedisProcess) -> AsyncIterator[NotificationDispatcher]:
    """As a worker process has it: no calls of its own."""
    client, waiting = connect(redis.url), connect(redis.url, waiting=True)
    dispatcher = NotificationDispatcher(NoticeRepository(client), PubSub(client, waiting))
    try:
        yield dispatcher
    finally:
        await dispatcher.close()
        await waiting.aclose()
        await client.aclose()


async def user_of(browser: httpx2.AsyncClient) -> str:
    """The user that the server takes this browser for: its signed cookie says so in front of the signature."""
    await browser.get("/api/config")
    (value,) = browser.cookies.jar
    return str(value.value).strip('"').rsplit(".", 2)[0]


async def answered(call: PlacedCall) -> None:
    """The caller says something, and hears the answer out."""
    await call.say(silence(200) + speech("hello there"))
    await call.told("transcript", within_s=20.0, role="assistant", content="Hello.")


async def waiting(browser: httpx2.AsyncClient) -> list[str]:
    answer = await browser.get("/api/me/notices")
    return [notice["id"] for notice in answer.json()["notices"]]


async def test_a_notice_of_another_process_is_spoken_in_the_live_call(
    peer: OfflinePeer, server: RunningServer, redis: RedisProcess
) -> None:
    await peer.follow(ANSWER)
    async with a_browser(server) as browser, a_dispatcher(redis) as dispatcher:
        user = await user_of(browser)
        async with placed_call(server, browser=browser) as call:
            await answered(call)
            await dispatcher.notify(user, DONE)
            told = await call.told("notice", within_s=20.0, state="told")
            assert told.data == {
                "id": "research-1",
                "kind": "result",
                "text": DONE.text,
                "source": "task-1",
                "state": "told",
            }
            assert call.all_told("transcript")[-1]["content"].startswith("By the way: The research about bees")
            await until(lambda: _empty(browser))


async def test_without_a_call_it_is_spoken_in_the_next_one_after_the_first_answer(
    peer: OfflinePeer, server: RunningServer, redis: RedisProcess
) -> None:
    await peer.follow(ANSWER)
    async with a_browser(server) as browser, a_dispatcher(redis) as dispatcher:
        user = await user_of(browser)
        async with placed_call(server, browser=browser) as call:
            await answered(call)
        await dispatcher.notify(user, DONE)
        assert await waiting(browser) == ["research-1"]
        async with placed_call(server, browser=browser) as call:
            await call.told("notice", state="waiting")
            await asyncio.sleep(1.5)  # nobody has said anything: there is nothing to be told yet
            assert [data["state"] for data in call.all_told("notice")] == ["waiting"]
            await answered(call)
            await call.told("notice", within_s=20.0, state="told")
            said = [data["content"] for data in call.all_told("transcript") if data["role"] == "assistant"]
            assert said[0] == "Hello." and said[1].startswith("By the way")
            await until(lambda: _empty(browser))


async def test_a_notice_cut_short_is_spoken_once_more_and_shorter(
    peer: OfflinePeer, server: RunningServer, redis: RedisProcess
) -> None:
    await peer.follow(ANSWER)
    async with a_browser(server) as browser, a_dispatcher(redis) as dispatcher:
        user = await user_of(browser)
        async with placed_call(server, browser=browser) as call:
            await answered(call)
            long = " ".join([DONE.text] * 4)
            await dispatcher.notify(user, Notice("research-2", long))
            await call.told("notice", state="speaking")
            await call.hears_something()
            await call.say(speech("hello there"))
            await call.told("transcript_interrupted")
            await call.told("notice", within_s=25.0, state="told")
            states = [data["state"] for data in call.all_told("notice")]
            assert states == ["waiting", "speaking", "waiting", "speaking", "told"]
            said = [data["content"] for data in call.all_told("transcript") if data["role"] == "assistant"]
            assert said[-1] == "As I was saying: The research about bees is done."


async def test_a_forgotten_user_gets_nothing(server: RunningServer, redis: RedisProcess) -> None:
    async with a_browser(server) as browser, a_dispatcher(redis) as dispatcher:
        user = await user_of(browser)
        await dispatcher.notify(user, DONE)
        exported = (await browser.get("/api/me/export")).json()
        assert exported["notices"][0]["text"] == DONE.text
        assert (await browser.delete("/api/me")).status_code == 200
        assert await waiting(browser) == [] and await dispatcher.waiting(user) == []


async def _empty(browser: httpx2.AsyncClient) -> bool:
    return await waiting(browser) == []
