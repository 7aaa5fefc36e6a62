"""Two whole servers that share their Redis: each reminder is delivered by one of them, and none lost with the other."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from backend.testing.services.server import Reply, Request, json_reply, serving
from tests.notifications.test_http import user_of
from tests.support.offline_peer import OfflinePeer
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.running_server import RunningServer, a_browser, running_server
from tests.support.waiting import until

SECRET = "a secret of some length"


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


class Receiver:
    """A webhook's server. It holds back its first answers until `let_go`."""

    def __init__(self, holds: int = 0) -> None:
        self.taken: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self._holds = holds
        self.let_go = asyncio.Event()

    def holds(self, count: int) -> None:
        """So many answers are held back from now on."""
        self._holds = count

    async def __call__(self, request: Request) -> Reply:
        told = request.json()
        self.asked.append(told["delivery"])
        if len(self.asked) <= self._holds:
            await self.let_go.wait()
        self.taken.append(told)
        return json_reply({"ok": True})


def hooked(peer: OfflinePeer, redis: RedisProcess, url: str) -> Any:
    """A server that shares its Redis, and tells that webhook of reminders."""
    return running_server(
        peer,
        REDIS_URL=redis.url,
        SECRET_KEY="k" * 32,
        NOTIFICATIONS__LEASE_S="1",
        NOTIFICATIONS__WEBHOOK_URL=f"{url}/hook",
        NOTIFICATIONS__WEBHOOK_HOSTS="127.0.0.1",
        NOTIFICATIONS__WEBHOOK_SECRET=SECRET,
    )


async def test_of_two_servers_one_delivers_each_and_a_killed_ones_is_delivered_by_the_other(
    peer: OfflinePeer, redis: RedisProcess
) -> None:
    receiver = Receiver()
    async with serving(receiver) as hook:
        with hooked(peer, redis, hook.url) as one, hooked(peer, redis, hook.url) as two:
            async with a_browser(one) as browser:
                user = await user_of(browser)
                for number in range(12):
                    made = await browser.post("/notification", json={"text": f"number {number}", "at": "in 2 seconds"})
                    assert made.status_code == 201, made.text
                await until(lambda: len(receiver.taken) >= 12, 15.0)
                await asyncio.sleep(1.0)
                assert len(receiver.asked) == len(set(receiver.asked)), "each of them once"
                assert {told["user"] for told in receiver.taken} == {user}
                await _dies_in_between(one, two, receiver, browser)


async def _dies_in_between(one: RunningServer, two: RunningServer, receiver: Receiver, browser: Any) -> None:
    """The server that has begun with a reminder is killed before the webhook's answer."""
    before, begun = [await _begun(running) for running in (one, two)], len(receiver.asked)
    receiver.holds(begun + 1)
    await browser.post("/notification", json={"text": "the last one", "at": "in 1 second", "id": "last"})
    await until(lambda: len(receiver.asked) == begun + 1, 15.0)
    holder = one if await _begun(one) > before[0] else two
    holder.process.kill()
    await until(lambda: len(receiver.taken) == begun + 1, 20.0)
    assert receiver.asked[-1] == receiver.asked[-2], "the same delivery, so that the receiver can tell"
    receiver.let_go.set()


async def _begun(running: RunningServer) -> float:
    """Reminders with whose delivery that server has begun."""
    async with a_browser(running) as browser:
        metrics = (await browser.get("/metrics")).text
    found = re.search(r'^voice_reminders_total{event="due"} ([\d.]+)$', metrics, re.MULTILINE)
    return float(found[1]) if found else 0.0
