"""Unreadable notices and reminders in a real Redis. Each is skipped, and everything beside it goes on."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from redis.asyncio import Redis

from backend.app.notifications import Notifications, open_notifications
from backend.errors import MemoryUnavailable
from backend.notifications.notices import Notice
from backend.notifications.repository import DUE, ReminderRepository, UnreadableReminder
from backend.runtime.faults import skipped_records
from backend.settings.notifications import NotificationSettings
from backend.storage.client import connect
from backend.storage.pubsub import PubSub
from backend.testing.memory import FakeMemory
from backend.turns.events import NoticeArrived, NoticeWithdrawn
from tests.support.pubsub import clients
from tests.support.redis_server import RedisProcess
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("redis")

BROKEN = (b"\xff not JSON", b"[1]", b"{}", b'{"id": 7}')


@dataclass
class Process:
    """A server process: its notifications, and the events that its one call receives."""

    redis: Redis
    pubsub: PubSub
    notifications: Notifications
    arrived: list[str] = field(default_factory=list)

    def on_event(self, event: NoticeArrived | NoticeWithdrawn) -> None:
        if isinstance(event, NoticeArrived):
            self.arrived.append(event.text)


@asynccontextmanager
async def process(server: RedisProcess, **settings: Any) -> AsyncIterator[Process]:
    chosen = NotificationSettings.model_validate(settings)
    async with (
        clients(server.url) as (redis, pubsub),
        open_notifications(chosen, redis, pubsub, FakeMemory()) as notifications,
    ):
        pubsub.start()
        notifications.reminders.delivery.start()
        assert await pubsub.wait_until_open(5.0)
        yield Process(redis, pubsub, notifications)


async def test_unreadable_notices_are_skipped_and_counted_and_the_others_are_spoken(
    server: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    before = skipped_records["notice"]
    async with process(server) as at:
        dispatcher = at.notifications.dispatcher
        for number, raw in enumerate(BROKEN):
            await at.redis.hset("user:ada:notices", f"bad{number}", raw)
        await dispatcher.notify("ada", Notice("n1", "It is done."))
        assert [notice.id for notice in await dispatcher.waiting("ada")] == ["n1"]
        assert skipped_records["notice"] >= before + 2 * len(BROKEN)
        subscription = dispatcher.subscribe("ada", at.on_event)
        await until(lambda: at.arrived == ["It is done."])
        subscription.mark_delivered("n1")
        await until(lambda: delivered(at, "n1"))
        await dispatcher.notify("ada", Notice("n2", "That, too."))
        await until(lambda: at.arrived == ["It is done.", "That, too."])
        subscription.close()
        assert await at.redis.hlen("user:ada:notices") == len(BROKEN) + 1, (
            "they are left for a version that can read them"
        )
    assert "a record of the kind notice cannot be read" in caplog.text


async def test_a_fault_of_one_call_costs_the_other_calls_nothing(server: RedisProcess) -> None:
    async with process(server) as at:
        dispatcher = at.notifications.dispatcher

        def faulty(event: NoticeArrived | NoticeWithdrawn) -> None:
            raise RuntimeError("a fault of one call")

        subscriptions = [dispatcher.subscribe("eve", faulty), dispatcher.subscribe("ada", at.on_event)]
        for user in ("eve", "ada"):
            await dispatcher.notify(user, Notice("n1", "It is done."))
        await until(lambda: at.arrived == ["It is done."])
        for subscription in subscriptions:
            subscription.close()


async def test_unreadable_reminders_are_skipped_and_counted_and_the_others_are_delivered(
    server: RedisProcess,
) -> None:
    before = skipped_records["reminder"]
    async with process(server, per_user=200) as at:
        for number in range(70):
            raw = BROKEN[number % len(BROKEN)]
            await at.redis.hset("user:ada:reminders", f"bad{number}", raw)
            await at.redis.zadd(DUE, {f"ada bad{number}": time.time() - 60})
        await at.notifications.reminders.set("ada", "take the bread out", "in 1 second", reminder_id="r1")
        subscription = at.notifications.dispatcher.subscribe("ada", at.on_event)
        await until(lambda: at.arrived == ["A reminder: take the bread out"], within_s=20.0)
        subscription.close()
        assert [each["id"] for each in await at.notifications.reminders.all_of("ada")] == ["r1"]
        assert skipped_records["reminder"] >= before + 70
        assert await at.redis.hlen("user:ada:reminders") == 71, "they are left for a version that can read them"


async def test_an_unreadable_reminder_is_neither_changed_nor_replaced(server: RedisProcess) -> None:
    redis = connect(server.url)
    repository = ReminderRepository(redis)
    await redis.hset("user:ada:reminders", "r1", b'{"id": "r1", "shape": "of another version"}')
    with pytest.raises(UnreadableReminder):
        await repository.remove("ada", "r1")
    assert await redis.hget("user:ada:reminders", "r1") == b'{"id": "r1", "shape": "of another version"}'
    await repository.erase("ada")
    assert not await redis.exists("user:ada:reminders")
    await redis.aclose()


async def test_reminders_go_on_after_one_delivery_fails(server: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(server) as at:
        reminders, dispatcher = at.notifications.reminders, at.notifications.dispatcher
        notify = dispatcher.notify

        async def faulty(user: str, notice: Notice) -> None:
            if notice.source == "bad":
                raise RuntimeError("a fault in the delivery of one reminder")
            await notify(user, notice)

        monkeypatch.setattr(dispatcher, "notify", faulty)
        await reminders.set("ada", "the faulty one", "in 1 second", reminder_id="bad")
        await reminders.set("ada", "take the bread out", "in 1 second", reminder_id="good")
        subscription = dispatcher.subscribe("ada", at.on_event)
        await until(lambda: at.arrived == ["A reminder: take the bread out"])
        await asyncio.sleep(0.6)
        subscription.close()


async def test_a_short_refusal_of_redis_delays_a_reminder_only_shortly(
    server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(server) as at:
        dispatcher, tries = at.notifications.dispatcher, count(1)
        notify = dispatcher.notify

        async def refusing(user: str, notice: Notice) -> None:
            if next(tries) == 1:
                raise MemoryUnavailable("Redis refused.")
            await notify(user, notice)

        monkeypatch.setattr(dispatcher, "notify", refusing)
        subscription = dispatcher.subscribe("ada", at.on_event)
        await at.notifications.reminders.set("ada", "take the bread out", "in 1 second")
        await until(lambda: at.arrived == ["A reminder: take the bread out"], within_s=15.0)
        subscription.close()


async def delivered(at: Process, notice_id: str) -> bool:
    return await at.notifications.dispatcher.is_delivered("ada", notice_id)
