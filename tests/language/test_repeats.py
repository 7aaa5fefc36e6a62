"""Rules of repetition are read, and those that are wrong, or never happen, are refused."""

import time
from contextlib import suppress
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import BadMoment
from backend.language.repeats import checked, understood


def at(text: str) -> datetime:
    """Return a wall-clock time in New York, such as '2026-10-30 09:30'."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("America/New_York"))


WEDNESDAY = at("2026-11-25 09:00")


@pytest.mark.parametrize(
    ("rule", "plain", "first"),
    [
        ("weekly", "FREQ=WEEKLY", "2026-11-25"),
        ("Weekdays", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "2026-11-25"),
        ("RRULE:FREQ=WEEKLY;BYDAY=MO;", "FREQ=WEEKLY;BYDAY=MO", "2026-11-30"),
        ("freq=daily;interval=2;count=5", "FREQ=DAILY;INTERVAL=2;COUNT=5", "2026-11-25"),
        ("FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=1MO", "2026-12-07"),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "2026-11-30",
        ),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=MONTHLY;BYMONTHDAY=-1", "2026-11-30"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2028-02-29"),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "2026-11-26"),
    ],
)
def test_a_rule_is_read_with_its_first_day(rule: str, plain: str, first: str) -> None:
    assert checked(rule, WEDNESDAY) == (plain, at(f"{first} 09:00"))


@pytest.mark.parametrize(
    ("until", "start", "kept"),
    [
        ("2026-12-31", WEDNESDAY, "20270101T045959Z"),
        ("20261231T1000", WEDNESDAY, "20261231T150000Z"),
        ("20261231T150000Z", WEDNESDAY, "20261231T150000Z"),
        ("20261231T150000Z", date(2026, 11, 25), "20261231"),
        ("2026-12-31", datetime(2026, 11, 25, 9), "20261231T235959"),
    ],
)
def test_the_last_day_is_written_in_the_form_of_the_start(until: str, start: date, kept: str) -> None:
    rule, _ = checked(f"FREQ=DAILY;UNTIL={until}", start)
    assert rule == f"FREQ=DAILY;UNTIL={kept}"


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "often",
        "FREQ=HOURLY",
        "FREQ=DAILY;FREQ=DAILY",
        "INTERVAL=2",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;COUNT=2;UNTIL=20261231",
        "FREQ=DAILY;UNTIL=20261332",
        "FREQ=DAILY;UNTIL=20261031",
        "FREQ=DAILY;BYHOUR=3",
        "FREQ=WEEKLY;BYDAY=1MO",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYSETPOS=1",
        "FREQ=MONTHLY;BYDAY=5FR;BYSETPOS=4",
        "FREQ=MONTHLY;BYDAY=1MO,1TU;BYSETPOS=3",
        "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=3MO",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31",
        "FREQ=DAILY\r\nATTENDEE:mailto:eve@example.com",
    ],
)
def test_a_rule_that_is_wrong_or_never_happens_is_refused(rule: str) -> None:
    with pytest.raises(BadMoment):
        checked(rule, WEDNESDAY.replace(day=30))


def parts(frequency: str) -> st.SearchStrategy[str]:
    days = st.sampled_from(["BYDAY=MO", "BYDAY=5FR", "BYMONTHDAY=31", "BYMONTHDAY=-31", "BYMONTH=2", "BYSETPOS=4"])
    return st.lists(days, max_size=3).map(lambda chosen: ";".join([f"FREQ={frequency}", *chosen]))


@given(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]).flatmap(parts), st.integers(1, 999))
def test_no_accepted_rule_takes_long_to_compute(rule: str, interval: int) -> None:
    rule = f"{rule};INTERVAL={interval}"
    began = time.process_time()
    if understood(rule):
        with suppress(BadMoment):
            checked(rule, WEDNESDAY)
    assert time.process_time() - began < 2
