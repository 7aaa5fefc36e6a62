"""The contract of every `EventStore`: Redis, and a real CalDAV server."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from fakeredis import FakeAsyncRedis

from backend.extensions.calendar import kept
from backend.extensions.calendar.base import CalendarRefused, EventChanged, EventDraft, EventStore, NoSuchEvent, Stored
from backend.extensions.calendar.caldav import CalDavStore
from backend.extensions.calendar.events import write
from backend.extensions.calendar.kept import KeptEvents
from tests.support.radicale import PASSWORD, USERNAME

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
START, END = NOW, NOW + timedelta(days=7)


@pytest.fixture(params=["kept", "caldav"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[EventStore]:
    if request.param == "kept":
        yield KeptEvents(FakeAsyncRedis())
        return
    url = request.getfixturevalue("server").url
    async with httpx2.AsyncClient() as http:
        caldav = CalDavStore(http, url, USERNAME, PASSWORD)
        yield caldav
        for user in ("ada", "bob"):
            await caldav.erase(user)


def text(title: str, day: int = 22, repeats: str = "") -> str:
    start = NOW.replace(day=day)
    return write(EventDraft(title, start, start + timedelta(hours=1), repeats=repeats), title, NOW)


def titles(found: list[Stored]) -> list[str]:
    return sorted(line[8:] for one in found for line in one.text.splitlines() if line.startswith("SUMMARY:"))


async def test_a_user_has_no_calendar_before_the_first_event(store: EventStore) -> None:
    assert await store.events("ada", (START, END)) == []
    with pytest.raises(NoSuchEvent):
        await store.get("ada", "a.ics")


async def test_other_days_are_left_out_except_for_repeating_events(store: EventStore) -> None:
    await store.create("ada", "past.ics", text("Past", day=1))
    await store.create("ada", "later.ics", text("Later", day=30))
    await store.create("ada", "weekly.ics", text("Weekly", day=2, repeats="FREQ=WEEKLY"))
    assert titles(await store.events("ada", (START, START + timedelta(days=4)))) == ["Weekly"]


async def test_all_events_are_given_for_an_open_span(store: EventStore) -> None:
    assert await store.events("ada") == []
    await store.create("ada", "past.ics", text("Past", day=1))
    await store.create("ada", "later.ics", text("Later", day=30))
    assert titles(await store.events("ada")) == ["Later", "Past"]
    assert await store.events("bob") == []


async def test_users_never_see_each_others_events(store: EventStore) -> None:
    await store.create("ada", "a.ics", text("Dentist"))
    assert await store.events("bob", (START, END)) == []
    known = await store.get("ada", "a.ics")
    with pytest.raises(NoSuchEvent):
        await store.get("bob", "a.ics")
    for work in (store.replace("bob", known, text("Stolen")), store.remove("bob", known)):
        with pytest.raises((NoSuchEvent, EventChanged, CalendarRefused)):
            await work
    await store.erase("bob")
    assert titles(await store.events("ada", (START, END))) == ["Dentist"]


async def test_an_id_is_used_once(store: EventStore) -> None:
    await store.create("ada", "a.ics", text("Dentist"))
    with pytest.raises(EventChanged):
        await store.create("ada", "a.ics", text("Dentist"))


async def test_a_change_of_an_old_version_is_refused(store: EventStore) -> None:
    await store.create("ada", "a.ics", text("Dentist"))
    known = await store.get("ada", "a.ics")
    await store.replace("ada", known, text("Dentist").replace("SUMMARY:Dentist", "SUMMARY:Optician"))
    with pytest.raises(EventChanged):
        await store.replace("ada", known, text("Dentist"))
    with pytest.raises(EventChanged):
        await store.remove("ada", known)
    assert titles(await store.events("ada", (START, END))) == ["Optician"]


async def test_one_of_many_parallel_changes_succeeds(store: EventStore) -> None:
    await store.create("ada", "a.ics", text("Dentist"))
    known = await store.get("ada", "a.ics")
    texts = [known.text.replace("SUMMARY:Dentist", f"SUMMARY:Plan {number}") for number in range(6)]
    results = await asyncio.gather(*(store.replace("ada", known, each) for each in texts), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["EventChanged"] * 5 + ["NoneType"]


async def test_many_parallel_new_events_are_all_kept(store: EventStore) -> None:
    await asyncio.gather(*(store.create("ada", f"e{number}.ics", text(f"E{number}")) for number in range(8)))
    assert len(await store.events("ada", (START, END))) == 8


async def test_erasing_deletes_everything_of_one_user_and_may_be_repeated(store: EventStore) -> None:
    await store.create("ada", "a.ics", text("Dentist"))
    await store.create("bob", "b.ics", text("Optician"))
    for _ in range(2):
        await store.erase("ada")
    assert await store.events("ada", (START, END)) == []
    assert titles(await store.events("bob", (START, END))) == ["Optician"]


@pytest.mark.parametrize("event_id", ["", ".", "..", "../b.ics", "../../secret_key", "a/../b.ics", "%2e%2e", "a\0.ics"])
async def test_an_id_cannot_leave_the_calendar(store: EventStore, event_id: str) -> None:
    await store.create("ada", "a.ics", text("Dentist"))
    with pytest.raises(NoSuchEvent):
        await store.get("ada", event_id)


@pytest.mark.parametrize("user_id", ["../ada", "a/b", "ö \0 ?#", "x" * 500])
async def test_any_user_id_is_safe(store: EventStore, user_id: str) -> None:
    await store.create(user_id, "a.ics", text("Dentist"))
    try:
        assert titles(await store.events(user_id, (START, END))) == ["Dentist"]
    finally:
        await store.erase(user_id)


async def test_a_full_calendar_refuses_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "EVENT_LIMIT", 1)
    store = KeptEvents(FakeAsyncRedis())
    await store.create("ada", "0.ics", text("Dentist"))
    with pytest.raises(CalendarRefused, match="full"):
        await store.create("ada", "1.ics", text("Dentist"))
    await store.create("bob", "1.ics", text("Dentist"))
