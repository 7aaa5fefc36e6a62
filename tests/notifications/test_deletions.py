"""`user.deleted` is kept until every webhook has taken it, however late, by any process."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from fakeredis import FakeAsyncRedis
from redis.asyncio import Redis

from backend.errors import PeerError
from backend.notifications import deletions
from backend.notifications.deletions import (
    DELETIONS,
    KEEP_S,
    Deletion,
    DeletionNotifier,
    DeletionTarget,
    at_webhook,
    pause_s,
)
from backend.notifications.webhooks import WebhookClient
from backend.testing.services.server import ApiServer, Reply, Request, json_reply, serving

SECRET = "a secret of some length"


@pytest.fixture
async def redis() -> AsyncIterator[Redis]:
    client = FakeAsyncRedis()
    yield client
    await client.aclose()


def webhook(server: ApiServer) -> DeletionTarget:
    return at_webhook(WebhookClient(url=f"{server.url}/hook", secret=SECRET, hosts=["127.0.0.1"], pauses_s=(0.01,)))


@dataclass
class Place:
    """A receiver that refuses as long as the test says."""

    refuses: bool = True
    tries: int = 0

    async def delete(self, deletion: Deletion) -> None:
        self.tries += 1
        if self.refuses:
            raise PeerError("not now")


async def test_every_webhook_gets_the_deletion_even_if_another_refuses(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(lambda _: json_reply({}, 410)) as refusing, serving(lambda _: json_reply({})) as taking:
        notifier = DeletionNotifier(redis, {"one": webhook(refusing), "other": webhook(taking)})
        with caplog.at_level(logging.WARNING):
            assert await notifier.delete("u-1") == ["one"]
        await notifier.close()
    (request,) = taking.requests
    assert (request.json()["event"], request.json()["user"]) == ("user.deleted", "u-1")
    assert "one has not deleted a user yet" in caplog.text and "u-1" not in caplog.text


async def test_a_receiver_that_comes_back_late_gets_it_from_any_process(redis: Redis) -> None:
    now, up = [1_000.0], [False]

    def answer(_: Request) -> Reply:
        return json_reply({}, 200 if up[0] else 503)

    async with serving(answer) as server:
        first = DeletionNotifier(redis, {"hook": webhook(server)}, lambda: now[0])
        assert await first.delete("u-1") == ["hook"]
        await first.close()
        other = DeletionNotifier(redis, {"hook": webhook(server)}, lambda: now[0])
        for _ in range(11):
            now[0] += pause_s(now[0] - 1_000) - 1
            before = len(server.requests)
            await other.try_due()
            assert len(server.requests) == before, "no request is sent during the pause"
            now[0] += 2
            await other.try_due()
            assert len(server.requests) > before
        up[0] = True
        now[0] += pause_s(now[0] - 1_000) + 1
        await other.try_due()
        delivered = server.requests[-1].json()
        assert (delivered["user"], delivered["at"]) == ("u-1", 1_000.0)
        assert len({request.json()["delivery"] for request in server.requests}) == 1, (
            "a repeated delivery has the same id"
        )
        now[0] += KEEP_S
        await other.try_due()
        assert server.requests[-1].json() == delivered and await redis.zcard(DELETIONS) == 0
        await other.close()


async def test_two_processes_make_one_attempt(redis: Redis) -> None:
    place, now = Place(), [0.0]
    one, other = (DeletionNotifier(redis, {"place": place.delete}, lambda: now[0]) for _ in range(2))
    await one.delete("u-1")
    now[0] += pause_s(0) + 1
    await one.try_due()
    await other.try_due()
    assert place.tries == 2


async def test_another_process_makes_the_attempt_of_a_process_that_died(redis: Redis) -> None:
    place, now = Place(refuses=False), [0.0]
    dead = DeletionNotifier(redis, {"place": place.delete}, lambda: now[0])
    await dead._queue.put_off(deletions.CLAIM_S, Deletion("d-1", "place", "u-1", 0.0))
    other = DeletionNotifier(redis, {"place": place.delete}, lambda: now[0])
    await other.try_due()
    assert place.tries == 0
    now[0] += deletions.CLAIM_S + 1
    await other.try_due()
    assert place.tries == 1 and await redis.zcard(DELETIONS) == 0


async def test_after_a_month_the_attempts_end_and_the_operator_is_warned(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    place, now = Place(), [0.0]
    notifier = DeletionNotifier(redis, {"place": place.delete}, lambda: now[0])
    await notifier.delete("u-1")
    assert await redis.ttl("deletions") > KEEP_S, "an abandoned deletion expires by itself"
    now[0] += KEEP_S
    with caplog.at_level(logging.ERROR):
        await notifier.try_due()
    assert "has not deleted a user within 30 days" in caplog.text and await redis.zcard(DELETIONS) == 0


async def test_the_number_of_waiting_deletions_is_bounded(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "LIMIT", 3)
    notifier = DeletionNotifier(redis, {"place": Place().delete})
    for number in range(6):
        await notifier.delete(f"u-{number}")
    assert await redis.zcard(DELETIONS) == 3


def test_pauses_grow_up_to_six_hours() -> None:
    assert [pause_s(waited_s) for waited_s in (0, 30, 60)] == [30, 30, 60]
    assert pause_s(KEEP_S) == 6 * 3_600
