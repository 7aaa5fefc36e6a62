"""Notices are kept until one live call, in any process, has delivered them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from backend.notifications.dispatcher import NotificationDispatcher, Subscription
from backend.notifications.notices import NOTICES_LIMIT, Notice, NoticeRepository
from backend.page_events import NoticeChanged, NoticeContent
from backend.storage.pubsub import PubSub
from backend.turns.events import NoticeArrived, NoticeWithdrawn
from tests.support.pubsub import clients
from tests.support.redis_server import RedisProcess
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("redis")

DONE = Notice("n1", "The research is done.", source="task-1", at=1.0)


@dataclass
class Process:
    """The part of a server process that deals with notices."""

    repository: NoticeRepository
    pubsub: PubSub
    dispatcher: NotificationDispatcher


@dataclass
class FakeCall:
    """A live call, as the dispatcher sees it."""

    arrived: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)

    def on_event(self, event: NoticeArrived | NoticeWithdrawn) -> None:
        (self.arrived if isinstance(event, NoticeArrived) else self.withdrawn).append(event.notice)


@asynccontextmanager
async def process(server: RedisProcess) -> AsyncIterator[Process]:
    async with clients(server.url) as (redis, pubsub):
        repository = NoticeRepository(redis)
        running = Process(repository, pubsub, NotificationDispatcher(repository, pubsub))
        pubsub.start()
        try:
            yield running
        finally:
            await running.dispatcher.close()


@asynccontextmanager
async def call(process: Process, user: str = "ada") -> AsyncIterator[tuple[FakeCall, Subscription]]:
    ear = FakeCall()
    subscription = process.dispatcher.subscribe(user, ear.on_event)
    try:
        yield ear, subscription
    finally:
        subscription.close()


async def test_without_a_call_a_notice_waits_for_the_next_one(server: RedisProcess) -> None:
    async with process(server) as here:
        await here.dispatcher.notify("ada", DONE)
        assert await here.dispatcher.waiting("ada") == [DONE]
        async with call(here) as (ear, _):
            await until(lambda: ear.arrived == ["n1"])


@pytest.mark.document("003", "results wait for the teller")
async def test_a_notice_is_deleted_after_its_delivery_and_not_before(server: RedisProcess) -> None:
    async with process(server) as here:
        await here.dispatcher.notify("ada", DONE)
        async with call(here) as (ear, _):
            await until(lambda: ear.arrived == ["n1"])
        assert await here.dispatcher.waiting("ada") == [DONE], "the call ended before it was spoken"
        async with call(here) as (ear, subscription):
            await until(lambda: ear.arrived == ["n1"])
            subscription.mark_delivered("n1")
        assert await here.dispatcher.waiting("ada") == []


async def test_a_delivered_notice_is_not_delivered_again(server: RedisProcess) -> None:
    async with process(server) as here, call(here) as (ear, subscription):
        await here.dispatcher.notify("ada", DONE)
        await here.dispatcher.notify("ada", DONE)
        await until(lambda: ear.arrived == ["n1"])
        subscription.mark_delivered("n1")
        await here.dispatcher.close()
        await here.dispatcher.notify("ada", DONE)
        assert await here.dispatcher.waiting("ada") == [] and ear.arrived == ["n1"]


async def test_a_call_in_another_process_gets_a_notice_immediately(server: RedisProcess) -> None:
    async with process(server) as worker, process(server) as serving, call(serving) as (ear, _):
        await until(lambda: serving.pubsub.is_listening)
        await worker.dispatcher.notify("ada", DONE)
        await until(lambda: ear.arrived == ["n1"])


async def test_another_users_call_gets_no_notice(server: RedisProcess) -> None:
    async with process(server) as here, call(here, "bob") as (bobs, _), call(here) as (ear, _):
        await here.dispatcher.notify("ada", DONE)
        await until(lambda: ear.arrived == ["n1"])
        assert bobs.arrived == []


async def test_of_two_calls_the_newer_speaks_and_the_older_takes_over_after_it(server: RedisProcess) -> None:
    async with process(server) as here, process(server) as there, call(here) as (older, _):
        await here.dispatcher.notify("ada", DONE)
        await until(lambda: older.arrived == ["n1"])
        async with call(there) as (newer, _):
            await until(lambda: newer.arrived == ["n1"] and older.withdrawn == ["n1"])
        await until(lambda: older.arrived == ["n1", "n1"])


async def test_withdrawing_a_notice_removes_it_from_the_call_too(server: RedisProcess) -> None:
    async with process(server) as here, process(server) as there, call(here) as (ear, _):
        await here.dispatcher.notify("ada", DONE)
        await until(lambda: ear.arrived == ["n1"])
        assert await there.dispatcher.withdraw("ada", "n1")
        await until(lambda: ear.withdrawn == ["n1"])


async def test_a_page_shows_by_its_id_what_the_turn_machine_holds(server: RedisProcess) -> None:
    async with process(server) as here, call(here) as (ear, subscription):
        await here.dispatcher.notify("ada", DONE)
        await until(lambda: ear.arrived == ["n1"])
        content = NoticeContent("result", "The research is done.", "task-1")
        assert subscription.shown(NoticeChanged("n1", "speaking")) == NoticeChanged("n1", "speaking", content)


async def test_an_unreachable_redis_delays_the_deletion_but_does_not_repeat_the_notice(server: RedisProcess) -> None:
    async with process(server) as here:
        await here.dispatcher.notify("ada", DONE)
        async with call(here) as (ear, subscription):
            await until(lambda: ear.arrived == ["n1"])
            server.freeze()
            subscription.mark_delivered("n1")
        server.thaw()
        async with call(here) as (ear, _):
            await until(lambda: not here.dispatcher._deleting)
            assert await here.dispatcher.waiting("ada") == [] and ear.arrived == []


async def test_the_oldest_notice_goes_when_there_are_too_many_and_export_and_erasure_cover_all(
    server: RedisProcess,
) -> None:
    async with process(server) as here:
        for number in range(NOTICES_LIMIT + 1):
            await here.repository.add("ada", numbered(number))
        waiting = await here.repository.waiting("ada")
        assert len(waiting) == NOTICES_LIMIT and waiting[0].id == "n1"
        assert len(await here.repository.export("ada")) == NOTICES_LIMIT
        await here.repository.erase("ada")
        assert await here.repository.export("ada") == [] and await here.repository.add("ada", DONE)


def numbered(number: int) -> Notice:
    return Notice(f"n{number}", "Something.", at=float(number))
