"""The four calendar tools as a model uses them: through the runner, on Redis and on a real CalDAV server."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest
from fakeredis import FakeAsyncRedis

from backend.errors import SettingsError
from backend.extensions.calendar.base import CalendarUnavailable, EventStore
from backend.extensions.calendar.caldav import CalDavStore
from backend.extensions.calendar.calendars import Calendars, open_calendars
from backend.extensions.calendar.kept import KeptEvents
from backend.extensions.calendar.settings import CalendarSettings
from backend.extensions.calendar.tools import (
    calendar_create_event,
    calendar_delete_event,
    calendar_list_events,
    calendar_update_event,
)
from backend.settings.settings import load_settings
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.tools.base import Clock
from backend.tools.runner import Toolbox
from tests.support.consent import confirmations, tool_context
from tests.support.radicale import PASSWORD, USERNAME, Radicale

NEW_YORK = ZoneInfo("America/New_York")
SATURDAY = datetime(2026, 11, 21, 10, 0, tzinfo=NEW_YORK)
TOOLS: tuple[Any, ...] = (calendar_create_event, calendar_list_events, calendar_update_event, calendar_delete_event)


@dataclass
class Desk:
    """The tools over one store, and a user who speaks turn by turn, ten seconds apart."""

    store: EventStore
    memory: Any = field(default_factory=FakeMemory)
    now: datetime = SATURDAY
    turns: Iterator[int] = field(default_factory=itertools.count)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        services = {
            Calendars: Calendars(self.store),
            Memory: self.memory,
            Clock: Clock(lambda: self.now.timestamp()),
        }
        tools = [function.__tool__ for function in TOOLS]
        self.confirmations = confirmations(lambda: self.seconds)
        self.box = Toolbox(tools, services, self.confirmations)

    async def live_in(self, zone: str, user: str = "ada") -> None:
        """The user states their time zone."""
        await self.memory.update_user_context(user, lambda known: {**known, "preferences": {"time_zone": zone}})

    async def call(self, tool: str, user: str = "ada", **arguments: Any) -> Any:
        """Make one call in a turn of its own and return what the model is shown."""
        self.seconds += 10
        context = tool_context(user, f"{user}'s", turn=str(next(self.turns)))
        return json.loads((await self.box.run(f"calendar_{tool}", json.dumps(arguments), context)).content)

    async def agreed(self, tool: str, **arguments: Any) -> Any:
        """Make a call that needs consent, and again once the user has agreed."""
        assert (await self.call(tool, **arguments))["error"]["type"] == "needs_confirmation"
        await self.say("Yes, go ahead.")
        return await self.call(tool, **arguments)

    async def say(self, words: str, user: str = "ada") -> None:
        """The user speaks, ten seconds later."""
        self.seconds += 10
        await self.confirmations.take_answer(user, f"{user}'s", words)

    async def events(self, user: str = "ada", **arguments: Any) -> list[Any]:
        """The list of events."""
        return list((await self.call("list_events", user, **arguments))["events"])

    async def starts(self, **arguments: Any) -> list[str]:
        """The times of events, to the minute."""
        return [event["start"][:16] for event in await self.events(**arguments)]


@pytest.fixture(params=["kept", "caldav"])
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    async with httpx2.AsyncClient() as http:
        store: EventStore = KeptEvents(FakeAsyncRedis())
        if request.param == "caldav":
            store = CalDavStore(http, request.getfixturevalue("server").url, USERNAME, PASSWORD)
        desk = Desk(store)
        await desk.live_in("America/New_York")
        yield desk
        for user in ("ada", "bob"):
            await store.erase(user)


@pytest.mark.document("000", "eight tools")
async def test_an_event_is_created_from_natural_words_and_listed(desk: Desk) -> None:
    made = await desk.call("create_event", title="Dentist", start="tomorrow at three", location="Main Street")
    assert made["created"]["when"] == "Sunday, 22 November 2026, 15:00"
    assert made["spoken"] == "It is in your calendar: Dentist, Sunday, 22 November, at 15:00."
    assert (await desk.call("list_events"))["spoken"] == "In your calendar: Dentist, Sunday, 22 November, at 15:00."
    [event] = await desk.events()
    assert event == made["created"]
    assert (event["start"], event["end"]) == ("2026-11-22T15:00:00-05:00", "2026-11-22T16:00:00-05:00")
    assert event["location"] == "Main Street"


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ({"start": "2026-11-23T09:00", "duration_minutes": 20}, "2026-11-23T09:20:00-05:00"),
        ({"start": "2026-11-23T09:00", "end": "11:15"}, "2026-11-23T11:15:00-05:00"),
        ({"start": "2026-11-23T22:00", "end": "01:00"}, "2026-11-24T01:00:00-05:00"),
        ({"start": "2026-11-23", "end": "2026-11-25"}, "2026-11-25"),
        ({"start": "2026-11-23"}, "2026-11-23"),
        ({"start": "in two hours"}, "2026-11-21T13:00:00-05:00"),
    ],
)
async def test_an_event_ends_at_the_stated_end(desk: Desk, arguments: dict[str, Any], end: str) -> None:
    await desk.call("create_event", title="x", **arguments)
    [event] = await desk.events()
    assert event["end"] == end
    assert event.get("all_day", False) is (len(end) == 10)


@pytest.mark.parametrize(
    "arguments",
    [
        {"start": "soon"},
        {"start": "tomorrow morning"},
        {"start": "2026-11-23T09:00", "end": "2026-11-23T08:00"},
        {"start": "2026-11-23", "end": "2026-11-22"},
        {"start": "2026-11-23", "duration_minutes": 60},
        {"start": "2026-11-23T09:00", "repeats": "sometimes"},
        {"start": "2026-11-23T09:00", "time_zone": "Mars/Olympus"},
    ],
)
async def test_an_impossible_event_is_refused_with_a_hint_and_nothing_is_kept(
    desk: Desk, arguments: dict[str, Any]
) -> None:
    made = await desk.call("create_event", title="x", **arguments)
    assert made["error"]["type"] == "failed"
    assert made["error"]["retryable"] is False
    assert await desk.events() == []


async def test_a_weekly_event_keeps_its_hour_across_the_change_of_clocks(desk: Desk) -> None:
    desk.now = datetime(2026, 10, 24, 10, 0, tzinfo=NEW_YORK)
    await desk.call("create_event", title="Choir", start="2026-10-26T19:00", repeats="FREQ=WEEKLY;BYDAY=MO;COUNT=3")
    listed = await desk.events(start="2026-10-25", end="2026-11-30")
    assert [event["start"] for event in listed] == [
        "2026-10-26T19:00:00-04:00",
        "2026-11-02T19:00:00-05:00",
        "2026-11-09T19:00:00-05:00",
    ]
    assert all("BYDAY=MO" in event["repeats"] for event in listed)


async def test_a_repeating_event_begins_on_the_first_day_of_its_rule(desk: Desk) -> None:
    made = await desk.call("create_event", title="Choir", start="2026-11-24T19:00", repeats="FREQ=WEEKLY;BYDAY=TH")
    assert made["created"]["when"] == "Thursday, 26 November 2026, 19:00"
    assert made["created"]["occurrence"]


@pytest.mark.document("000", "eight tools")
async def test_an_event_is_changed_only_once_the_user_has_agreed(desk: Desk) -> None:
    made = await desk.call("create_event", title="Dentist", start="2026-11-23T15:00")
    arguments = {"id": made["created"]["id"], "start": "2026-11-24T09:30", "title": "Dentist, Dr. Lee"}
    assert (await desk.call("update_event", **arguments))["error"]["type"] == "needs_confirmation"
    assert await desk.starts() == ["2026-11-23T15:00"]
    await desk.say("Yes.")
    changed = await desk.call("update_event", **arguments)
    assert changed["changed"]["when"] == "Tuesday, 24 November 2026, 09:30"
    assert changed["spoken"] == "Done. It is now on Tuesday, 24 November, at 09:30."
    [event] = await desk.events()
    assert (event["title"], event["end"]) == ("Dentist, Dr. Lee", "2026-11-24T10:30:00-05:00")


@pytest.mark.document("000", "eight tools")
async def test_a_change_affects_one_occurrence_or_the_whole_series(desk: Desk) -> None:
    await desk.call("create_event", title="Run", start="2026-11-22T07:00", repeats="daily")
    week = await desk.events(end="2026-11-25")
    id_ = week[0]["id"]
    await desk.agreed("delete_event", id=id_, occurrence=week[1]["occurrence"])
    await desk.agreed("update_event", id=id_, occurrence=week[2]["occurrence"], start="2026-11-24T18:00")
    assert await desk.starts(end="2026-11-25") == ["2026-11-22T07:00", "2026-11-24T18:00", "2026-11-25T07:00"]
    await desk.agreed("update_event", id=id_, title="Slow run")
    assert {event["title"] for event in await desk.events()} == {"Slow run"}
    await desk.agreed("delete_event", id=id_)
    assert await desk.events() == []


async def test_events_are_searched_by_their_words(desk: Desk) -> None:
    await desk.call("create_event", title="Lunch with Zoë", start="2026-11-23T12:00", notes="bring the book")
    await desk.call("create_event", title="Dentist", start="2026-11-23T15:00")
    assert [event["title"] for event in await desk.events(query="BOOK zoë")] == ["Lunch with Zoë"]


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ({"start": "2026-11-24", "end": "2026-11-24"}, ["24"]),
        ({"start": "2026-11-23", "end": "2026-11-24"}, ["23", "24"]),
        ({"start": "tomorrow", "end": "in 3 days"}, ["23", "24"]),
        ({"start": "next week"}, ["23", "24"]),
        ({"start": "next week", "end": "next week"}, ["23", "24"]),
        ({"start": "this weekend"}, []),
        ({"start": "Tuesday afternoon", "end": "Tuesday afternoon"}, ["24"]),
        ({"start": "2026-11-24T08:00", "end": "2026-11-24T12:00"}, []),
        ({}, ["23", "24"]),
        ({"end": "2026-11-23"}, ["23"]),
    ],
)
async def test_the_last_day_is_included(desk: Desk, span: dict[str, str], expected: list[str]) -> None:
    for day in (23, 24):
        await desk.call("create_event", title=str(day), start=f"2026-11-{day}T15:00")
    await desk.call("create_event", title="far", start="2027-11-24T15:00")
    assert [event["title"] for event in await desk.events(**span)] == expected


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        ("Friday", "Monday", "2026-11-27T00:00:00-05:00", "2026-12-01T00:00:00-05:00"),
        ("Monday", "Friday", "2026-11-30T00:00:00-05:00", "2026-12-05T00:00:00-05:00"),
        ("tomorrow at three", "at five", "2026-11-26T15:00:00-05:00", "2026-11-26T17:00:00-05:00"),
    ],
)
async def test_the_end_of_a_span_is_read_from_today_unless_that_is_before_its_beginning(
    start: str, end: str, first: str, last: str
) -> None:
    desk = Desk(KeptEvents(FakeAsyncRedis()), now=datetime(2026, 11, 25, 10, 0, tzinfo=NEW_YORK))
    await desk.live_in("America/New_York")
    listed = await desk.call("list_events", start=start, end=end)
    assert (listed["from"], listed["to"]) == (first, last)


@pytest.mark.parametrize("span", [{"start": "2026-11-24", "end": "2026-11-23"}, {"end": "2028-01-01"}])
async def test_an_invalid_or_long_span_is_refused(desk: Desk, span: dict[str, str]) -> None:
    assert (await desk.call("list_events", **span))["error"]["type"] == "failed"


async def test_another_places_time_is_shown_in_the_users_own(desk: Desk) -> None:
    await desk.call("create_event", title="Call", start="2026-11-23T15:00", time_zone="Europe/Berlin")
    assert await desk.starts() == ["2026-11-23T09:00"]


async def test_a_conflict_with_a_later_change_is_reported() -> None:
    class Rival(KeptEvents):
        """Another client writes between our reading and our writing."""

        async def get(self, user_id: str, event_id: str) -> Any:
            known = await super().get(user_id, event_id)
            await self.replace(user_id, known, known.text.replace("SUMMARY:Dentist", "SUMMARY:Optician"))
            return known

    desk = Desk(Rival(FakeAsyncRedis()))
    made = await desk.call("create_event", title="Dentist", start="2026-11-23T15:00")
    refused = await desk.agreed("update_event", id=made["created"]["id"], title="Barber")
    assert "changed by another client" in refused["error"]["message"]
    assert [event["title"] for event in await desk.events()] == ["Optician"]


async def test_a_repeated_request_after_a_lost_answer_makes_one_event() -> None:
    class Lossy(KeptEvents):
        """Keeps the event, and loses the first answer."""

        answers = 0

        async def create(self, user_id: str, event_id: str, text: str) -> None:
            self.answers += 1
            await super().create(user_id, event_id, text)
            if self.answers == 1:
                raise CalendarUnavailable("The calendar server does not answer.")

    desk = Desk(Lossy(FakeAsyncRedis()))
    context = tool_context("ada", "ada's", turn="a turn")
    arguments = json.dumps({"title": "Dentist", "start": "2026-11-23T15:00"})
    lost = await desk.box.run("calendar_create_event", arguments, context)
    assert (lost.error, lost.retryable) == ("failed", True)
    assert (await desk.box.run("calendar_create_event", arguments, context)).error is None
    assert len(await desk.events()) == 1
    await desk.call("create_event", title="Dentist", start="2026-11-23T15:00")  # the same request again, later
    assert len(await desk.events()) == 2


async def test_without_a_time_zone_local_time_counts_and_the_answer_says_so() -> None:
    desk = Desk(KeptEvents(FakeAsyncRedis()))
    made = await desk.call("create_event", title="Dentist", start="tomorrow at three")
    assert "time zone is not known" in made["note"]
    assert made["created"]["start"] == "2026-11-22T15:00:00"
    for zone in ("Asia/Tokyo", "America/New_York"):  # with a zone known later, three o'clock is still three o'clock
        await desk.live_in(zone)
        assert await desk.starts() == ["2026-11-22T15:00"]


async def test_an_unreachable_memory_costs_the_zone_and_not_the_calendar() -> None:
    desk = Desk(KeptEvents(FakeAsyncRedis()))
    desk.memory.down = True
    assert "created" in await desk.call("create_event", title="Dentist", start="tomorrow at three")


async def test_a_full_week_is_shown_as_far_as_there_is_room_and_the_rest_is_counted() -> None:
    desk = Desk(KeptEvents(FakeAsyncRedis()))
    for number in range(30):
        await desk.call("create_event", title="x" * 150, start=f"2026-11-23T{number % 24:02}:00", notes="y" * 500)
    listed = await desk.call("list_events")
    assert len(listed["events"]) + listed["more"] == 30
    assert listed["events"][0]["start"] < listed["events"][-1]["start"]


async def test_an_unreadable_event_is_left_out_and_counted() -> None:
    desk = Desk(KeptEvents(FakeAsyncRedis()))
    await desk.call("create_event", title="Dentist", start="2026-11-23T15:00")
    await desk.store.create("ada", "b.ics", "garbage")
    listed = await desk.call("list_events")
    assert len(listed["events"]) == 1
    assert listed["left_out"] == "1 that cannot be read"


async def test_settings_choose_the_server_and_fall_back_on_redis(server: Radicale) -> None:
    async with httpx2.AsyncClient() as http:
        local = load_settings(_env_file=None)
        account = {"url": server.url, "username": USERNAME, "password": PASSWORD}
        remote = load_settings(_env_file=None, calendar=account)
        for settings, kind in ((local, KeptEvents), (remote, CalDavStore)):
            calendars = open_calendars(settings, http, FakeMemory())
            assert isinstance(calendars.store, kind)
            await calendars.erase("nobody yet")
        assert PASSWORD not in repr(remote) + repr(calendars)


@pytest.mark.parametrize("url", ["cal.example.com", "ftp://cal.example.com", "https://ada:secret@cal.example.com/"])
def test_an_invalid_address_or_one_with_a_password_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(SettingsError, match="CALENDAR__URL") as refused:
        load_settings(_env_file=None, calendar={"url": url}).of(CalendarSettings)
    assert "secret" not in str(refused.value)
