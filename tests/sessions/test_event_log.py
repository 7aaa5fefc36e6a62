"""Numbered events for any number of readers: replayed, bounded, and never blocked by a reader."""

import asyncio
from contextlib import aclosing

from backend.sessions.event_log import LOG_BYTES, EventLog, LoggedEvent, PageMessage


def filled(count: int, limit: int = 2_000) -> EventLog:
    """A closed feed of so many events."""
    feed = EventLog(limit)
    for number in range(1, count + 1):
        feed.append(PageMessage("n", {"n": number}))
    feed.close()
    return feed


async def read(feed: EventLog, after: int = 0) -> list[LoggedEvent]:
    return [event async for event in feed.read(after)]


def ids(events: list[LoggedEvent]) -> list[int]:
    return [event.id for event in events]


async def test_a_reader_that_comes_back_gets_the_events_it_missed() -> None:
    assert ids(await read(filled(5), after=3)) == [4, 5]
    assert ids(await read(filled(5), after=5)) == []


async def test_a_number_from_the_future_reads_from_the_start() -> None:
    assert ids(await read(filled(3), after=99)) == [1, 2, 3]


async def test_a_reader_behind_the_ring_gets_a_gap_with_the_number_of_missed_events() -> None:
    events = await read(filled(10, limit=4), after=2)
    assert (events[0].type, events[0].data) == ("gap", {"missed": 4})
    assert ids(events) == [6, 7, 8, 9, 10]


async def test_many_readers_at_different_speeds_each_get_everything() -> None:
    feed = EventLog()
    slow = feed.read()
    quick = asyncio.create_task(read(feed))
    for number in range(50):
        feed.append(PageMessage("n", {"n": number}))
        await asyncio.sleep(0)
    assert (await anext(slow)).id == 1
    feed.append(PageMessage("n", {"n": 50}))
    feed.close()
    assert ids(await quick) == list(range(1, 52))
    assert ids([event async for event in slow]) == list(range(2, 52))


async def test_a_reader_overtaken_while_it_reads_gets_a_gap() -> None:
    feed = EventLog(limit=3)
    feed.append(PageMessage("n", {}))
    reader = feed.read()
    assert (await anext(reader)).id == 1
    for _ in range(5):
        feed.append(PageMessage("n", {}))
    feed.close()
    rest = [event async for event in reader]
    assert [(event.type, event.id) for event in rest] == [("gap", 3), ("n", 4), ("n", 5), ("n", 6)]
    assert rest[0].data == {"missed": 2}


async def test_readers_end_when_the_feed_is_closed_and_later_events_are_dropped() -> None:
    feed = EventLog()
    reader = asyncio.create_task(read(feed))
    await asyncio.sleep(0)
    feed.append(PageMessage("n", {}))
    feed.close()
    feed.append(PageMessage("late", {}))
    assert [event.type for event in await reader] == ["n"]
    assert [event.type for event in await read(feed)] == ["n"]


async def test_events_between_two_reads_come_together() -> None:
    feed = EventLog()
    async with aclosing(feed.follow()) as stream:
        feed.append(PageMessage("n", {}))
        assert ids([*await anext(stream)]) == [1]
        coming = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        feed.append(PageMessage("n", {}))
        feed.append(PageMessage("n", {}))
        assert ids([*await coming]) == [2, 3]


async def test_a_quiet_spell_gives_an_empty_batch_counted_from_the_last_event() -> None:
    feed, loop = EventLog(), asyncio.get_running_loop()
    async with aclosing(feed.follow(quiet_s=0.5)) as stream:
        coming = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.2)
        feed.append(PageMessage("n", {}))
        assert ids([*await coming]) == [1]
        began = loop.time()
        assert [*await anext(stream)] == []
        assert loop.time() - began >= 0.45
        feed.append(PageMessage("n", {}))
        assert ids([*await anext(stream)]) == [2]


async def test_the_log_is_bounded_in_bytes() -> None:
    feed = EventLog()
    for number in range(1_000):
        feed.append(PageMessage("n", {"n": number, "text": "x" * 10_000}))
    feed.close()
    events = await read(feed)
    assert events[0].type == "gap" and events[-1].id == 1_000
    assert sum(len(str(event.data)) for event in events) <= LOG_BYTES


async def test_a_batch_is_bounded_in_bytes() -> None:
    feed = EventLog()
    for number in range(50):
        feed.append(PageMessage("n", {"n": number, "text": "x" * 10_000}))
    feed.close()
    async with aclosing(feed.follow()) as batches:
        assert [len(batch) async for batch in batches] == [6, 6, 6, 6, 6, 6, 6, 6, 2]


async def test_an_event_larger_than_the_log_counts_as_missed() -> None:
    feed = EventLog()
    feed.append(PageMessage("n", {"text": "x" * (LOG_BYTES + 1)}))
    feed.append(PageMessage("n", {"n": 2}))
    feed.close()
    assert [(event.type, event.id) for event in await read(feed)] == [("gap", 1), ("n", 2)]
