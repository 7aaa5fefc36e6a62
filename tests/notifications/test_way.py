"""The way of a notice, run for real: from a worker's dispatcher through Redis into a live call and out of Redis."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from backend.notifications.dispatcher import NotificationDispatcher, Subscription
from backend.notifications.notices import Notice, NoticeRepository
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.limits import TurnLimits
from tests.call.world import TONE, PlacedCall, placed_call, settle
from tests.support.pubsub import clients
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.waiting import until
from tests.support.ways import documented, files_passed, files_passed_within, slow_clock
from tests.thinkers.test_way import mentioned

NOTICE = Notice("research-1", "The research about bees is done.", source="task-1")
LIMITS = TurnLimits(idle_nudge_s=0, idle_disconnect_s=0, notice_after_s=0.3)
"""The notice comes while the floor is not quiet for long enough yet, so that the machine has to be woken for it."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@asynccontextmanager
async def dispatcher(redis: RedisProcess) -> AsyncIterator[NotificationDispatcher]:
    """The dispatcher of one process."""
    async with clients(redis.url) as (client, pubsub):
        made = NotificationDispatcher(NoticeRepository(client), pubsub)
        pubsub.start()
        try:
            assert await pubsub.wait_until_open(5.0)
            yield made
        finally:
            await made.close()


def was_asked_for(call: PlacedCall) -> bool:
    return any(request.purpose is do.Purpose.NOTICE for request in call.responder.requests)


async def test_a_notice_passes_the_files_that_the_page_lists(redis: RedisProcess) -> None:
    async with (
        dispatcher(redis) as worker,
        dispatcher(redis) as serving,
        placed_call(limits=LIMITS, subscribe=serving.subscribe) as call,
    ):
        with slow_clock():
            await call.type_and_answer()
            await until(lambda: serving.is_on_call("ada"))
            with files_passed() as passed:
                await worker.notify("ada", NOTICE)
                await until(lambda: was_asked_for(call))
                call.responder.say(ev.ReplyStarted("r1", call.responder.requests[-1].request))
                await settle()
            [note] = call.done(do.AddNote)
            assert NOTICE.text in note.text
            call.responder.say(ev.ReplyText("r1", "i1", "By the way: the research about bees is done."))
            call.responder.say(ev.ReplyAudio("r1", "i1", TONE), ev.ReplyFinished("r1", "completed"))
            await settle()
            with files_passed_within(Subscription.mark_delivered, NotificationDispatcher._delete) as passed_again:
                await call.play_out()
                await until(lambda: is_gone(worker))
            assert [data["state"] for data in call.events_of("notice")] == ["waiting", "speaking", "told"]
    passed |= set().union(*passed_again)
    way, beside = documented("notice"), mentioned("Beside a notice's way")
    assert passed - beside == set(way)
    assert beside <= passed, "every file listed as beside the way exists"
    assert len(way) <= 13 and not beside & set(way)


async def is_gone(worker: NotificationDispatcher) -> bool:
    return await worker.is_delivered("ada", NOTICE.id) and await worker.waiting("ada") == []
