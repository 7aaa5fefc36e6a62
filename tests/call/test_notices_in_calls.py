"""A real call speaks a notice that another process made, through a shared Redis."""

from typing import Any

import pytest

from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.notices import Notice, NoticeRepository
from backend.storage.client import connect
from backend.storage.pubsub import PubSub
from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.running_server import a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

TONE: dict[str, Any] = {"hz": 440, "ms": 300}
ANSWER: dict[str, Any] = {"turns": [{"hear": "hello there", "reply": {"text": "Hello.", "tone": TONE}}], "loop": True}
DONE = Notice("research-1", "The research about bees is done. They dance to show the way.", source="task-1")


async def test_a_live_call_speaks_a_notice_of_another_process(peer: OfflinePeer) -> None:
    await peer.follow(ANSWER)
    with running_redis() as redis, running_server(peer, REDIS_URL=redis.url) as server:
        async with a_browser(server) as browser, placed_call(server, browser=browser) as call:
            await call.say(silence(200) + speech("hello there"))
            await call.event("transcript", within_s=20.0, role="assistant", content="Hello.")
            (cookie,) = browser.cookies.jar
            user = str(cookie.value).strip('"').rsplit(".", 2)[0]  # the signature stands behind it
            await _notify(redis, user)
            spoken = await call.event("notice", within_s=20.0, state="told")
            assert (spoken.data["id"], spoken.data["text"], spoken.data["source"]) == (
                "research-1",
                DONE.text,
                "task-1",
            )
            assert call.events_of("transcript")[-1]["content"].startswith("By the way: The research about bees")

            async def none_waits() -> bool:
                return '"notices":[]' in (await browser.get("/api/me/notices")).text

            await until(none_waits)


async def _notify(redis: RedisProcess, user: str) -> None:
    """Notify the user as a worker process does, which has no calls."""
    client, waiting = connect(redis.url), connect(redis.url, waiting=True)
    dispatcher = NotificationDispatcher(NoticeRepository(client), PubSub(client, waiting))
    try:
        await dispatcher.notify(user, DONE)
    finally:
        await dispatcher.close()
        await waiting.aclose()
        await client.aclose()
