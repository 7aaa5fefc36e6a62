"""Phrases for dates and times are read, and unclear ones are refused rather than guessed."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import BadMoment
from backend.language.dates import parse_when

NEW_YORK = ZoneInfo("America/New_York")
BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 11, 21, 10, 0, tzinfo=NEW_YORK)


def at(text: str, now: datetime = SATURDAY, zone: Any = NEW_YORK) -> str:
    """Read a phrase; return it in ISO 8601."""
    return parse_when(text, now, zone).isoformat()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-27", "2026-11-27"),
        ("2026-11-27T15:00", "2026-11-27T15:00:00-05:00"),
        ("2026-11-27 15:00:30", "2026-11-27T15:00:30-05:00"),
        ("2026-11-27T15:00Z", "2026-11-27T10:00:00-05:00"),
        ("2026-11-27T15:00:00.5+01:00", "2026-11-27T09:00:00-05:00"),
        ("today", "2026-11-21"),
        ("Tomorrow.", "2026-11-22"),
        ("the day after tomorrow at noon", "2026-11-23T12:00:00-05:00"),
        ("yesterday", "2026-11-20"),
        ("tomorrow at three", "2026-11-22T15:00:00-05:00"),
        ("tomorrow, 3 p.m.", "2026-11-22T15:00:00-05:00"),
        ("3pm tomorrow", "2026-11-22T15:00:00-05:00"),
        ("tomorrow at 03:30", "2026-11-22T03:30:00-05:00"),
        ("tomorrow at three thirty", "2026-11-22T15:30:00-05:00"),
        ("tomorrow at three in the morning", "2026-11-22T03:00:00-05:00"),
        ("tomorrow morning at eight", "2026-11-22T08:00:00-05:00"),
        ("tonight at nine", "2026-11-21T21:00:00-05:00"),
        ("this evening at half past seven", "2026-11-21T19:30:00-05:00"),
        ("tomorrow at quarter to eight pm", "2026-11-22T19:45:00-05:00"),
        ("tomorrow at ten past four", "2026-11-22T16:10:00-05:00"),
        ("12 am tomorrow", "2026-11-22T00:00:00-05:00"),
        ("tomorrow at nine forty five", "2026-11-22T09:45:00-05:00"),
        ("Friday", "2026-11-27"),
        ("Saturday", "2026-11-28"),
        ("this Saturday", "2026-11-21"),
        ("next Friday 9:30", "2026-11-27T09:30:00-05:00"),
        ("next Saturday", "2026-11-28"),
        ("Friday next week", "2026-11-27"),
        ("on Monday at 17:15", "2026-11-23T17:15:00-05:00"),
        ("in two hours", "2026-11-21T12:00:00-05:00"),
        ("in half an hour", "2026-11-21T10:30:00-05:00"),
        ("in an hour and a half", "2026-11-21T11:30:00-05:00"),
        ("forty-five minutes from now", "2026-11-21T10:45:00-05:00"),
        ("in an hour and 20 minutes", "2026-11-21T11:20:00-05:00"),
        ("in 3 days at nine", "2026-11-24T09:00:00-05:00"),
        ("in a week", "2026-11-28"),
        ("next week", "2026-11-28"),
        ("in three months", "2027-02-21"),
        ("November 27", "2026-11-27"),
        ("Nov 3", "2027-11-03"),
        ("the twenty-seventh of November at 4 pm", "2026-11-27T16:00:00-05:00"),
        ("27 November 2027", "2027-11-27"),
        ("November 27th, 2027 at noon", "2027-11-27T12:00:00-05:00"),
        ("2026-11-27 at 3 pm", "2026-11-27T15:00:00-05:00"),
        ("the 5th", "2026-12-05"),
        ("February 29", "2028-02-29"),
        ("at three", "2026-11-21T15:00:00-05:00"),
        ("9:30", "2026-11-22T09:30:00-05:00"),
        ("now", "2026-11-21T10:00:00-05:00"),
    ],
)
def test_a_phrase_is_read(text: str, expected: str) -> None:
    assert at(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-13-01",
        "2026-02-30",
        "11/27",
        "tomorrow at 25",
        "tomorrow at 13 pm",
        "February 30",
        "the 32nd",
        "tomorrow morning",
        "tonight",
        "in a while",
        "every Friday",
        "Friday or Saturday",
        "tomorrow with Bob at three",
        "in 99999999 days",
        "2300-01-01",
    ],
)
def test_a_phrase_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(BadMoment):
        at(text)


def test_next_friday_means_that_of_the_next_week() -> None:
    monday = datetime(2026, 11, 23, 8, 0, tzinfo=NEW_YORK)
    assert at("Friday", monday) == "2026-11-27"
    assert at("next Friday", monday) == "2026-12-04"


def test_the_day_is_that_of_the_user_and_not_of_the_server() -> None:
    late = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)  # still the 21st in New York
    assert at("tomorrow", late) == "2026-11-22"
    assert at("tomorrow", late, BERLIN) == "2026-11-23"


def test_without_a_zone_a_time_floats_and_an_instant_is_utc() -> None:
    assert at("tomorrow at three", zone=None) == "2026-11-22T15:00:00"
    assert at("in two hours", zone=None) == "2026-11-21T17:00:00+00:00"
    assert at("2026-11-27T15:00+01:00", zone=None) == "2026-11-27T14:00:00+00:00"


def test_a_time_that_the_clocks_skip_moves_ahead() -> None:
    assert at("2027-03-14T02:30") == "2027-03-14T03:30:00-04:00"


def test_a_time_that_occurs_twice_is_the_first() -> None:
    assert at("2026-11-01T01:30") == "2026-11-01T01:30:00-04:00"


def test_hours_from_now_are_real_hours_across_a_change_of_clocks() -> None:
    before = datetime(2026, 10, 31, 23, 30, tzinfo=NEW_YORK)
    there = parse_when("in four hours", before, NEW_YORK)
    assert isinstance(there, datetime)
    assert there.astimezone(UTC) - before.astimezone(UTC) == timedelta(hours=4)
    assert there.isoformat() == "2026-11-01T02:30:00-05:00"


def test_days_from_now_keep_the_time_of_day_across_a_change_of_clocks() -> None:
    before = datetime(2026, 10, 31, 12, 0, tzinfo=NEW_YORK)
    assert at("in two days at nine", before) == "2026-11-02T09:00:00-05:00"


@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 12, 31)), st.sampled_from([NEW_YORK, BERLIN, None]))
def test_iso_8601_is_read_back_unchanged(wall: datetime, zone: Any) -> None:
    wall = wall.replace(microsecond=0)
    read = parse_when(wall.isoformat(), SATURDAY, zone)
    assert isinstance(read, datetime)
    assert parse_when(read.isoformat(), SATURDAY, zone) == read


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(BadMoment):
        assert isinstance(parse_when(text, SATURDAY, NEW_YORK), date)
