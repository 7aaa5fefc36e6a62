"""Events as iCalendar text: what is written is read again, on the right days, whatever the clocks do."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar

from backend.extensions.calendar.base import CalendarRefused, EventDraft, Stored
from backend.extensions.calendar.events import UNREADABLE, may_touch, occurrences, with_time_zones, write
from tests.extensions.calendar.events_of import BERLIN, DAY, HOUR, NEW_YORK, NOW, at, event, found, standup, starts


def test_an_event_comes_back_as_it_was_written() -> None:
    text = event(
        at("2026-10-30 09:30"), at("2026-10-30 10:00"), title="Lunch, with; Zoë\\", location="Café", notes="a\nb"
    )
    [one] = found(text)
    assert (one.title, one.location, one.notes) == ("Lunch, with; Zoë\\", "Café", "a\nb")
    assert (one.start, one.end) == (at("2026-10-30 09:30"), at("2026-10-30 10:00"))
    assert one.original is None


@given(st.text(min_size=1, max_size=100), st.text(max_size=100))
def test_no_words_become_properties_of_the_event(title: str, notes: str) -> None:
    text = event(at("2026-10-30 09:30"), at("2026-10-30 10:00"), title=f"x{title}\r\nRRULE:FREQ=DAILY", notes=notes)
    [one] = Calendar.from_ical(text).events
    assert set(one) <= {"UID", "CREATED", "SUMMARY", "DESCRIPTION", "DTSTART", "DTEND", "DTSTAMP", "LAST-MODIFIED"}
    assert len(found(text)) == 1


def test_a_daily_event_keeps_its_hour_when_the_clocks_change() -> None:
    listed = found(standup("FREQ=DAILY;COUNT=4"))
    assert [one.start.isoformat() for one in listed] == [
        "2026-10-30T09:30:00-04:00",
        "2026-10-31T09:30:00-04:00",
        "2026-11-01T09:30:00-05:00",
        "2026-11-02T09:30:00-05:00",
    ]


def test_an_event_of_another_place_follows_that_places_clocks() -> None:
    text = event(at("2026-10-23 15:00", BERLIN), at("2026-10-23 16:00", BERLIN), "FREQ=WEEKLY;COUNT=3")
    here = [one.start.astimezone(NEW_YORK).isoformat() for one in found(text) if isinstance(one.start, datetime)]
    assert here == ["2026-10-23T09:00:00-04:00", "2026-10-30T10:00:00-04:00", "2026-11-06T09:00:00-05:00"]


def test_a_daily_event_in_the_skipped_hour_still_happens_that_day() -> None:
    text = event(at("2027-03-13 02:30"), at("2027-03-13 03:00"), "FREQ=DAILY;COUNT=3")
    days = [
        one.start.astimezone(NEW_YORK).date().isoformat()
        for one in found(text, "2027-03-12", 10)
        if isinstance(one.start, datetime)
    ]
    assert days == ["2027-03-13", "2027-03-14", "2027-03-15"]


def test_a_whole_day_is_a_day_everywhere() -> None:
    text = event(date(2026, 10, 30), date(2026, 10, 31))
    for zone in (NEW_YORK, BERLIN):
        assert starts(text, "2026-10-30", 1, zone) == ["10-30"]
        assert starts(text, "2026-10-29", 1, zone) == []
        assert starts(text, "2026-10-31", 1, zone) == []


def test_a_floating_time_is_in_the_readers_zone() -> None:
    text = event(at("2026-10-30 23:30", None), at("2026-10-31 00:30", None))
    for zone in (NEW_YORK, BERLIN):
        assert starts(text, "2026-10-30", 1, zone) == ["10-30 23:30"]
        assert starts(text, "2026-10-29", 1, zone) == []


def test_an_event_that_ends_as_the_day_begins_is_not_on_it() -> None:
    text = event(at("2026-10-30 23:00"), at("2026-10-31 00:00"))
    assert starts(text, "2026-10-31", 1) == []
    assert starts(text, "2026-10-30", 1) == ["10-30 23:00"]


def test_a_cancelled_occurrence_is_not_shown() -> None:
    text = standup("FREQ=DAILY;COUNT=2").replace("SUMMARY:", "STATUS:CANCELLED\r\nSUMMARY:")
    assert starts(text) == []


@pytest.mark.parametrize("rule", ["FREQ=SECONDLY", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "FREQ=HOURLY;BYHOUR=3"])
def test_a_rule_that_could_take_forever_is_not_evaluated(rule: str) -> None:
    text = standup("FREQ=DAILY").replace("RRULE:FREQ=DAILY", f"RRULE:{rule}")
    assert rule in text
    with pytest.raises(CalendarRefused):
        found(text)


@pytest.mark.parametrize(
    "text", ["", "garbage", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", "BEGIN:VEVENT\r\nEND:VEVENT\r\n"]
)
def test_an_invalid_event_is_refused(text: str) -> None:
    with pytest.raises((*UNREADABLE, CalendarRefused)):
        found(text)


@given(st.text(max_size=200), st.integers(0, 12))
def test_a_text_with_garbage_in_it_is_read_or_refused_without_another_error(garbage: str, line: int) -> None:
    lines = standup("FREQ=DAILY;COUNT=2").split("\r\n")
    lines[line % len(lines)] = garbage
    try:
        found("\r\n".join(lines), days=3)
    except (*UNREADABLE, CalendarRefused):
        pass


def test_the_text_for_servers_defines_its_time_zones() -> None:
    text = with_time_zones(standup())
    assert [str(zone["TZID"]) for zone in Calendar.from_ical(text).timezones] == ["America/New_York"]
    assert starts(text, days=33) == ["10-30 09:30", "10-31 09:30", "11-01 09:30", "11-02 09:30"]


@given(
    st.datetimes(datetime(2026, 9, 1), datetime(2026, 12, 1)), st.integers(1, 60), st.sampled_from(["", "FREQ=WEEKLY"])
)
def test_the_quick_filter_never_misses_an_event_of_the_exact_one(wall: datetime, hours: int, rule: str) -> None:
    start = wall.replace(microsecond=0, tzinfo=NEW_YORK)
    text = write(EventDraft("x", start, start + hours * HOUR, repeats=rule), "e1", NOW)
    first = datetime(2026, 10, 10, tzinfo=UTC)
    if occurrences(Stored("e1.ics", text, ""), first, first + 7 * DAY):
        assert may_touch(text, first, first + 7 * DAY)


def test_the_quick_filter_leaves_out_past_and_future() -> None:
    text = event(at("2026-10-30 09:30"), at("2026-10-30 10:00"))
    soon = datetime(2026, 12, 1, tzinfo=UTC)
    assert not may_touch(text, soon, soon + timedelta(days=7))
    assert not may_touch(text, soon - timedelta(days=60), soon - timedelta(days=50))
