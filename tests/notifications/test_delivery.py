"""Delivering reminders in a call, on a page and by webhook, whichever process dies: none is lost, none comes twice."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backend.errors import TooMany
from backend.notifications import delivery
from backend.notifications.notices import Notice, spoken_text
from backend.notifications.reminders import DESERTED_S, KEEP_S, PAUSES_S
from backend.page_events import NoticeChanged, NoticeContent, ReminderChanged
from tests.notifications.world import NOW, USER, Process, World
from tests.support.crashing import Crash
from tests.support.examples import examples
from tests.support.waiting import until

DAY_S = 86_400


async def test_nothing_happens_before_the_reminder_is_due() -> None:
    async with Process(World()) as one:
        await one.set()
        assert await one.reminders.due(NOW + 599, 10) == ([], NOW + 600)
        assert await one.delivery.deliver(USER, "r1") == "nothing"
        assert await one.reminders.due(NOW + 600, 10) == ([(USER, "r1")], None)
        assert not one.world.waiting


async def test_a_live_call_speaks_the_reminder_and_deletes_it_once_it_was_heard() -> None:
    world = World(on_call=True, page=True)
    async with Process(world) as one:
        reminder = await one.set()
        assert await one.deliver(reminder) == "call"
        (notice,) = world.waiting.values()
        assert (notice.text, notice.kind, notice.source) == ("A reminder: take the bread out, r1", "reminder", "r1")
        assert notice.at == NOW + 600 and not world.posts and not world.shown
        assert (await one.reminders.all_of(USER))[0].to_json()["state"] == "due", "it stays until it was heard"
        world.speak()
        one.delivery.on_delivered(USER, notice.id, "call")
        await until(lambda: bool(world.shown))
        assert await one.reminders.all_of(USER) == []
        assert world.shown == [ReminderChanged("r1", "delivered", "call")]


async def test_a_reminder_that_was_heard_counts_as_delivered_though_its_process_died() -> None:
    world = World(on_call=True)
    async with Process(world) as one:
        reminder = await one.set()
        await one.deliver(reminder)
        world.speak()
        assert (await one.reminders.due(world.now + PAUSES_S[0] - 1, 9))[0] == []
        assert await one.deliver(reminder) == "call"
        assert await one.reminders.all_of(USER) == []


async def test_without_a_call_an_open_page_shows_the_reminder() -> None:
    world = World(page=True)
    async with Process(world) as one:
        reminder = await one.set()
        assert await one.deliver(reminder) == "waiting" and not world.waiting
        content = NoticeContent("reminder", "A reminder: take the bread out, r1", "r1")
        assert world.shown[0] == NoticeChanged("reminder-r1-1795263000", "waiting", content)
        assert await one.deliver(reminder) == "call", "it counts as delivered, though the process that knew died"
        assert await one.reminders.all_of(USER) == [] and not world.posts


async def test_without_a_call_or_a_page_the_webhook_gets_the_reminder_and_later_calls_do_not() -> None:
    world = World()
    async with Process(world) as one:
        reminder = await one.set()
        assert await one.deliver(reminder) == "waiting", "a page has a moment to confirm it"
        assert await one.deliver(reminder) == "webhook"
        assert world.posts == {"reminder-r1-1795263000": 1}
        assert not world.waiting and await one.reminders.all_of(USER) == []


async def test_one_that_a_live_call_does_not_speak_goes_to_the_webhook_after_three_minutes() -> None:
    world = World(on_call=True)
    async with Process(world) as one:
        reminder = await one.set()
        while await one.deliver(reminder) == "call":
            assert not world.posts
        assert world.now - NOW - 600 == 3 + 60 + 120 and world.posts.total() == 1 and not world.waiting


async def test_a_refusing_webhook_is_tried_again_after_growing_pauses() -> None:
    world = World(webhook_fails=2)
    async with Process(world) as one:
        reminder = await one.set()
        tries = []
        while await one.deliver(reminder) == "waiting":
            tries.append(world.now - NOW - 600)
        assert tries == [0, 3, 63] and world.now - NOW - 600 == 3 + 60 + 120
        assert world.posts.total() == 1


async def test_with_every_way_closed_the_reminder_waits_for_the_next_call() -> None:
    world = World(webhook=False)
    async with Process(world) as one:
        reminder = await one.set()
        assert await one.deliver(reminder) == "waiting"
        assert list(world.waiting) == ["reminder-r1-1795263000"], "the next call speaks it"
        world.speak()
        assert await one.deliver(reminder) == "call" and await one.reminders.all_of(USER) == []


async def test_a_reminder_that_cannot_be_delivered_is_dropped_in_the_end() -> None:
    world = World(webhook=False)
    async with Process(world) as one:
        reminder = await one.set()
        await one.deliver(reminder)
        world.now += KEEP_S + 700
        assert await one.delivery.deliver(USER, "r1") == "nothing"
        assert await one.reminders.all_of(USER) == [] and not world.waiting


async def test_a_reminder_canceled_when_due_is_not_spoken() -> None:
    world = World(on_call=True)
    async with Process(world) as one:
        reminder = await one.set()
        await one.deliver(reminder)
        await one.delivery.withdraw(USER, "r1")
        assert await one.reminders.remove(USER, "r1") is not None
        assert not world.waiting and await one.reminders.remove(USER, "r1") is None
        assert await one.reminders.due(NOW + 10 * DAY_S, 9) == ([], None)


async def test_a_repeated_reminder_replaces_an_earlier_one_that_was_not_heard() -> None:
    world = World(on_call=True)
    async with Process(world) as one:
        reminder = await one.set("tomorrow at nine", "daily")
        await one.deliver(reminder)
        world.speak()
        assert await one.deliver(reminder) == "call"
        (kept,) = await one.reminders.all_of(USER)
        assert kept.due == 0 and kept.at == reminder.at + DAY_S and kept.told_at
        world.now = kept.at
        await one.delivery.deliver(USER, "r1")
        (second,) = world.waiting
        world.now += DAY_S
        await one.delivery.deliver(USER, "r1")
        (third,) = world.waiting
        assert second != third, "Tuesday's reminder takes the place of Monday's"


async def test_a_process_that_was_away_for_days_reminds_once() -> None:
    world = World()
    async with Process(world) as one:
        reminder = await one.set("tomorrow at nine", "daily")
        world.now = reminder.at + 5 * DAY_S + 60
        await one.delivery.deliver(USER, "r1")
        assert await one.deliver(reminder) == "webhook"
        assert list(world.posts) == [f"reminder-r1-{reminder.at + 5 * DAY_S:.0f}"]
        (kept,) = await one.reminders.all_of(USER)
        assert kept.at == reminder.at + 6 * DAY_S


async def test_a_repeated_reminder_ends_after_months_without_a_delivery() -> None:
    world = World(webhook=False)
    async with Process(world) as one:
        await one.set("tomorrow at nine", "daily")
        for _ in range(200):
            if not (kept := await one.reminders.all_of(USER)):
                break
            world.now = kept[0].at
            await one.delivery.deliver(USER, "r1")
        assert await one.reminders.all_of(USER) == [] and not world.waiting
        assert DESERTED_S < world.now - NOW < DESERTED_S + 3 * DAY_S


@pytest.mark.parametrize(
    ("late_s", "said"),
    [(0, ""), (119, ""), (120, " (It was due 2 minutes ago.)"), (3_600, " (It was due 1 hour ago.)")],
)
def test_a_late_reminder_says_how_late_it_is(late_s: float, said: str) -> None:
    notice = Notice("reminder-r1-1", "A reminder: bread", "reminder", "r1", NOW)
    assert spoken_text(notice, NOW + late_s) == f"A reminder: bread{said}"
    assert spoken_text(Notice("d1", "It is done.", "result", at=NOW), NOW + late_s) == "It is done."


async def test_a_reminder_id_is_set_once_and_a_user_has_a_limited_number() -> None:
    async with Process(World()) as one:
        first = await one.set(id_="r0")
        assert await one.set("in two hours", id_="r0") == first
        for number in range(1, 5):
            await one.set(id_=f"r{number}")
        with pytest.raises(TooMany):
            await one.set(id_="r5")


async def test_one_of_several_processes_delivers_a_reminder() -> None:
    world = World()
    async with Process(world) as one, Process(world) as two:
        for number in range(5):
            await one.set(id_=f"r{number}")
        for outcome, after_s in (("waiting", 600), ("webhook", 4)):
            world.now += after_s
            first, second = await asyncio.gather(one.delivery.execute(), two.delivery.execute())
            assert first[outcome] + second[outcome] == first["due"] + second["due"] == 5
        assert world.posts.total() == 5 and set(world.posts.values()) == {1}
        assert await one.delivery.execute() == dict.fromkeys(first, 0), "executing it again does nothing"


@pytest.mark.document("002", "notification")
async def test_a_users_reminder_is_executed_behind_any_number_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "EXECUTE_LIMIT", 2)
    async with Process(World()) as one:
        own = await one.set()
        for number in range(2):
            await one.reminders.add(replace(own, owner=f"eve{number}", at=own.at - 60))
        assert (await one.delivery.execute(USER))["due"] == 0, "it is not time yet"
        one.world.now = own.at
        assert (await one.delivery.execute(USER))["due"] == 1
        assert [notice.source for notice in one.world.waiting.values()] == ["r1"]
        assert (await one.delivery.execute())["due"] == 2, "the others' still wait"


async def test_the_loop_sleeps_until_a_reminder_is_due_and_wakes_for_new_ones() -> None:
    world = World()
    async with Process(world) as one:
        one.delivery.start()
        await asyncio.sleep(0)
        await one.set()
        world.now += 600
        one.delivery.wake()
        await until(lambda: bool(world.waiting))


@pytest.mark.parametrize("way", ["call", "page", "webhook"])
async def test_a_reminder_is_delivered_whichever_await_its_process_dies_at(way: str) -> None:
    dies_after = 0
    while await _delivered_in_spite_of([dies_after], way):
        dies_after += 1
    assert dies_after > 10, "it has died at every await"


@examples(15)
@given(deaths=st.lists(st.integers(0, 45), min_size=2, max_size=4), way=st.sampled_from(["call", "page", "webhook"]))
async def test_a_reminder_is_delivered_however_many_processes_die(deaths: list[int], way: str) -> None:
    await _delivered_in_spite_of(deaths, way)


async def _delivered_in_spite_of(deaths: list[int], way: str) -> bool:
    """Run processes that die after so many awaits, then some that live. Returns whether any died."""
    world, died = World(on_call=way == "call", page=way == "page"), False
    async with Process(world) as first:
        await first.set()
    world.now += 600
    for dies_after in [*deaths, None, None, None]:
        async with Process(world, dies_after) as process:
            try:
                await process.delivery.deliver(USER, "r1")
            except Crash:
                died = True
        async with Process(world) as process:
            current = await process.reminders.get(USER, "r1")
            world.now = max(world.now, current.wakes_at) if current else world.now
        if way == "call" and world.waiting:
            world.speak()
    async with Process(world) as last:
        assert await last.reminders.all_of(USER) == [] and await last.reminders.due(world.now + DAY_S, 9) == ([], None)
    assert not world.waiting
    delivery = "reminder-r1-1795263000"
    if way == "webhook":
        assert set(world.posts) == {delivery}, "at least once, and always under the same id"
        assert world.posts[delivery] <= 1 + len(deaths)
    else:
        assert delivery in world.delivered and world.posts.total() <= len(deaths), "twice only where a process died"
    return died
