"""When a reminder is due: spoken times are understood, and a local time stays right across clock changes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import BadRequest
from backend.notifications.schedule import Series, last_time, next_time, planned
from tests.support.examples import examples

OSLO = ZoneInfo("Europe/Oslo")
NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=OSLO).timestamp()
ZONES = sorted(
    {"Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"}
    & available_timezones()
)
RULES = {
    "daily": timedelta(days=1),
    "weekdays": timedelta(days=3),
    "weekly": timedelta(days=7),
    "monthly": timedelta(days=62),
    "yearly": timedelta(days=8 * 366),
    "FREQ=DAILY;INTERVAL=3": timedelta(days=3),
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH": timedelta(days=14),
}
"""A rule, and the longest pause between two of its times."""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-11-27T15:00+05:30", "2026-11-27T15:00:00+05:30"),
        ("2026-11-27T15:00:30Z", "2026-11-27T15:00:30+00:00"),
        ("2026-11-27 15:00", "2026-11-27T15:00:00+01:00"),
        ("in ten seconds", "2026-11-21T12:00:40+01:00"),
        ("in a second", "2026-11-21T12:00:31+01:00"),
        ("In ten minutes.", "2026-11-21T12:10:30+01:00"),
        ("in half an hour", "2026-11-21T12:30:30+01:00"),
        ("in an hour and a half", "2026-11-21T13:30:30+01:00"),
        ("in two hours and five minutes", "2026-11-21T14:05:30+01:00"),
        ("in two days", "2026-11-23T12:00:30+01:00"),
        ("tomorrow at nine", "2026-11-22T09:00:00+01:00"),
        ("at half past three", "2026-11-21T15:30:00+01:00"),
        ("at eight in the morning", "2026-11-22T08:00:00+01:00"),
    ],
)
def test_spoken_times_are_understood(said: str, meant: str) -> None:
    assert planned(said, "none", NOW, OSLO) == (at(meant).timestamp(), None)


@pytest.mark.parametrize(
    ("said", "meant", "rule"),
    [
        ("every day at nine", "2026-11-22T09:00:00+01:00", "FREQ=DAILY"),
        ("at seven every morning", "2026-11-22T07:00:00+01:00", "FREQ=DAILY"),
        ("at seven every evening", "2026-11-21T19:00:00+01:00", "FREQ=DAILY"),
        ("every Monday at half past eight", "2026-11-23T08:30:00+01:00", "FREQ=WEEKLY"),
        ("every weekday at nine", "2026-11-23T09:00:00+01:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("daily at noon", "2026-11-22T12:00:00+01:00", "FREQ=DAILY"),
    ],
)
def test_the_repetition_may_be_said_with_the_time(said: str, meant: str, rule: str) -> None:
    first, series = planned(said, "none", NOW, OSLO)
    assert first == at(meant).timestamp()
    assert series is not None and series.rule == rule


@pytest.mark.parametrize(
    ("said", "repeat", "zone"),
    [
        ("2026-11-21T11:59+01:00", "", OSLO),
        ("yesterday at nine", "", OSLO),
        ("2026-02-30T10:00Z", "", OSLO),
        ("when the cows come home", "", OSLO),
        ("tomorrow", "", OSLO),
        ("tomorrow at nine", "", None),
        ("2026-11-27T15:00Z", "daily", None),
        ("in 99999999 weeks", "", OSLO),
        ("2089-01-01T10:00Z", "", OSLO),
        ("0001-01-01T00:00Z", "daily", OSLO),
        ("9999-12-31T23:59-12:00", "daily", OSLO),
        ("at nine", "now and then", OSLO),
        ("at nine", "FREQ=SECONDLY", OSLO),
        ("2020-01-01T09:00", "FREQ=DAILY;COUNT=3", OSLO),
    ],
)
def test_an_impossible_time_is_refused_with_a_hint(said: str, repeat: str, zone: ZoneInfo | None) -> None:
    with pytest.raises(BadRequest) as refused:
        planned(said, repeat, NOW, zone)
    assert refused.value.hint


def test_a_time_relative_to_now_needs_no_time_zone() -> None:
    assert planned("in ten minutes", "", NOW, None)[0] == NOW + 600


def test_nine_every_day_stays_nine_when_the_clocks_change() -> None:
    first, series = planned("2026-10-23T09:00", "daily", at("2026-10-22T12:00+02:00").timestamp(), OSLO)
    assert series is not None
    times = [first]
    while len(times) < 4:
        times.append(next_time(series, times[-1]) or 0)
    assert [datetime.fromtimestamp(each, OSLO).isoformat() for each in times] == [
        "2026-10-23T09:00:00+02:00",
        "2026-10-24T09:00:00+02:00",
        "2026-10-25T09:00:00+01:00",  # 25 hours later
        "2026-10-26T09:00:00+01:00",
    ]


def test_a_skipped_local_time_moves_ahead_and_a_repeated_one_is_taken_once() -> None:
    spring = Series("2027-03-27T02:30:00", "FREQ=DAILY", "Europe/Oslo")
    assert next_time(spring, at("2027-03-27T12:00+01:00").timestamp()) == at("2027-03-28T03:30+02:00").timestamp()
    autumn = Series("2026-10-24T02:30:00", "FREQ=DAILY", "Europe/Oslo")
    first = at("2026-10-25T02:30+02:00").timestamp()
    assert next_time(autumn, at("2026-10-24T12:00+02:00").timestamp()) == first
    assert next_time(autumn, first) == at("2026-10-26T02:30+01:00").timestamp()


def test_a_repetition_may_have_begun_long_ago() -> None:
    first, _ = planned("2019-01-01T09:00", "daily", NOW, OSLO)
    assert datetime.fromtimestamp(first, OSLO).isoformat() == "2026-11-22T09:00:00+01:00"


def test_a_rule_ends() -> None:
    first, series = planned("2026-11-22T09:00", "FREQ=DAILY;UNTIL=2026-11-24", NOW, OSLO)
    assert series is not None
    assert next_time(series, first + 86_400) == first + 2 * 86_400
    assert next_time(series, first + 2 * 86_400) is None
    first, series = planned("2026-11-22T09:00", "FREQ=DAILY;COUNT=2", NOW, OSLO)
    assert series is not None
    assert next_time(series, first + 86_400) is None
    assert last_time(series, first + 9 * 86_400) == first + 86_400


@examples(150)
@given(
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    start=st.datetimes(datetime(2011, 11, 1), datetime(2030, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    rule=st.sampled_from(sorted(RULES)),
    later=st.floats(0, 3 * 365 * 86_400),
)
def test_the_times_of_a_series_come_in_order_on_its_own_clock(
    zone: ZoneInfo, start: datetime, rule: str, later: float
) -> None:
    begun = start.replace(tzinfo=zone).timestamp()
    first, series = planned(start.isoformat(), rule, begun, zone)
    assert series is not None
    assert begun <= first or abs(first - begun) <= 86_400
    after = first + later
    following = next_time(series, after)
    assert following is not None
    assert after < following <= after + RULES[rule].total_seconds() + 90_000
    shown = datetime.fromtimestamp(following, zone).replace(tzinfo=None)
    wall = datetime.combine(shown.date(), start.time())
    skipped = wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall
    assert shown.time() == start.time() or skipped or _day_before_skips(shown, start, zone)
    assert (last_time(series, following) or 0) == following


def _day_before_skips(shown: datetime, start: datetime, zone: ZoneInfo) -> bool:
    """Whether it was moved ahead past midnight, or over a day that the zone left out."""
    wall = datetime.combine(shown.date() - timedelta(days=1), start.time())
    return wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall
