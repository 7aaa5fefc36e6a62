"""Changes to events: to one occurrence, to a whole series, to a single event."""

from datetime import date, datetime, timedelta

import pytest

from backend.errors import BadMoment
from backend.extensions.calendar.base import CalendarRefused, EventChanges, NoSuchEvent
from backend.extensions.calendar.edits import changed, without
from tests.extensions.calendar.events_of import BERLIN, HOUR, NEW_YORK, NOW, at, event, found, standup, starts

SERIES = standup("FREQ=DAILY;COUNT=4")
EVERY = ["10-30 09:30", "10-31 09:30", "11-01 09:30", "11-02 09:30"]
SUNDAY = at("2026-11-01 09:30")


def test_a_new_start_keeps_the_length() -> None:
    text = changed(
        event(at("2026-10-30 09:30"), at("2026-10-30 11:00")), EventChanges(start=at("2026-10-31 23:30")), None, NOW
    )
    [one] = found(text)
    assert isinstance(one.end, datetime)
    assert isinstance(one.start, datetime)
    assert one.start == at("2026-10-31 23:30")
    assert one.end.timestamp() - one.start.timestamp() == 90 * 60  # though the clocks are set back in between


def test_an_event_can_become_a_whole_day_and_a_timed_one_again() -> None:
    text = changed(
        event(at("2026-10-30 09:30"), at("2026-10-30 11:00")), EventChanges(start=date(2026, 11, 2)), None, NOW
    )
    assert (found(text)[0].start, found(text)[0].end) == (date(2026, 11, 2), date(2026, 11, 3))
    text = changed(text, EventChanges(start=at("2026-11-02 10:00")), None, NOW)
    assert (found(text)[0].start, found(text)[0].end) == (at("2026-11-02 10:00"), at("2026-11-02 11:00"))


def test_texts_change_and_empty_ones_are_removed() -> None:
    text = event(at("2026-10-30 09:30"), at("2026-10-30 11:00"), location="Here", notes="Bring cake")
    [one] = found(changed(text, EventChanges(title="Party", location=""), None, NOW))
    assert (one.title, one.location, one.notes) == ("Party", "", "Bring cake")


def test_an_end_or_a_length_alone_keeps_the_start() -> None:
    text = event(at("2026-10-30 09:30"), at("2026-10-30 11:00"))
    assert found(changed(text, EventChanges(end=at("2026-10-30 12:00")), None, NOW))[0].end == at("2026-10-30 12:00")
    assert found(changed(text, EventChanges(length=HOUR), None, NOW))[0].end == at("2026-10-30 10:30")


@pytest.mark.parametrize("end", [at("2026-10-30 09:30"), at("2026-10-29 10:00"), date(2026, 10, 31)])
def test_an_invalid_end_is_refused(end: date) -> None:
    with pytest.raises(BadMoment):
        changed(event(at("2026-10-30 09:30"), at("2026-10-30 11:00")), EventChanges(end=end), None, NOW)


def test_one_occurrence_moves_and_the_others_stay() -> None:
    text = changed(SERIES, EventChanges(start=at("2026-11-01 14:00"), title="Late one"), SUNDAY, NOW)
    assert starts(text) == ["10-30 09:30", "10-31 09:30", "11-01 14:00", "11-02 09:30"]
    moved = found(text)[2]
    assert (moved.title, moved.original, moved.end) == ("Late one", SUNDAY, at("2026-11-01 14:30"))
    assert found(text)[0].title == "Standup"


def test_a_moved_occurrence_can_be_moved_again_and_deleted() -> None:
    text = changed(SERIES, EventChanges(start=at("2026-11-01 14:00")), SUNDAY, NOW)
    text = changed(text, EventChanges(start=at("2026-11-01 16:00")), SUNDAY, NOW)
    assert starts(text)[2] == "11-01 16:00"
    assert starts(without(text, SUNDAY, NOW)) == ["10-30 09:30", "10-31 09:30", "11-02 09:30"]


def test_one_occurrence_is_named_by_its_instant_in_any_zone() -> None:
    assert "11-01 09:30" not in starts(without(SERIES, SUNDAY.astimezone(BERLIN), NOW))


@pytest.mark.parametrize("start", ["2026-10-30 01:30", "2027-03-12 02:30"])
def test_an_occurrence_is_found_in_the_repeated_hour_and_in_the_skipped_one(start: str) -> None:
    text = standup("FREQ=DAILY;COUNT=4", start)
    every = found(text, start[:10])
    strange = every[2].original
    assert isinstance(strange, datetime)
    asked = datetime.fromisoformat(strange.isoformat())  # as the model names it
    assert [one.original for one in found(without(text, asked, NOW), start[:10])] == [
        one.original for one in every if one is not every[2]
    ]
    moved = changed(text, EventChanges(start=at("2027-06-01 10:00")), asked, NOW)
    assert len(found(moved, start[:10], 10)) == 3
    assert starts(moved, "2027-06-01", 1) == ["06-01 10:00"]


def test_an_occurrence_of_whole_days_is_deleted() -> None:
    text = event(date(2026, 10, 30), date(2026, 10, 31), "FREQ=WEEKLY;COUNT=3")
    assert starts(without(text, date(2026, 11, 6), NOW), days=60) == ["10-30", "11-13"]


def test_an_occurrence_of_floating_times_is_deleted_by_its_local_time() -> None:
    text = event(at("2026-10-30 09:30", None), at("2026-10-30 10:00", None), "FREQ=DAILY;COUNT=3")
    assert starts(without(text, at("2026-10-31 09:30", None), NOW)) == ["10-30 09:30", "11-01 09:30"]
    assert starts(without(text, at("2026-10-31 09:30", NEW_YORK), NOW)) == ["10-30 09:30", "11-01 09:30"]


@pytest.mark.parametrize("original", [at("2026-11-01 10:30"), at("2026-11-05 09:30"), date(2026, 11, 1)])
def test_a_missing_occurrence_cannot_be_changed(original: date) -> None:
    with pytest.raises(NoSuchEvent):
        without(SERIES, original, NOW)
    with pytest.raises(NoSuchEvent):
        changed(SERIES, EventChanges(title="x"), original, NOW)


def test_a_single_event_has_no_occurrences() -> None:
    text = event(at("2026-10-30 09:30"), at("2026-10-30 10:00"))
    with pytest.raises(NoSuchEvent):
        without(text, at("2026-10-30 09:30"), NOW)
    with pytest.raises(NoSuchEvent):
        changed(text, EventChanges(title="x"), at("2026-10-30 09:30"), NOW)


def test_a_series_moves_to_another_hour_with_its_exceptions() -> None:
    text = without(SERIES, at("2026-10-31 09:30"), NOW)
    text = changed(text, EventChanges(title="Late one"), SUNDAY, NOW)
    text = changed(text, EventChanges(start=at("2026-11-02 11:00")), None, NOW)  # any of its days will do
    assert starts(text) == ["10-30 11:00", "11-01 09:30", "11-02 11:00"]
    assert [one.title for one in found(text)] == ["Standup", "Late one", "Standup"]
    assert [one.original for one in found(text)][1] == at("2026-11-01 11:00")


def test_a_series_keeps_its_last_day_when_it_moves_to_a_later_hour() -> None:
    text = standup("FREQ=DAILY;UNTIL=20261031T133000Z")
    assert starts(text) == EVERY[:2]
    assert starts(changed(text, EventChanges(start=at("2026-10-30 18:00")), None, NOW)) == [
        "10-30 18:00",
        "10-31 18:00",
    ]


def test_a_series_goes_by_its_own_clock_whatever_zone_a_change_names() -> None:
    text = changed(SERIES, EventChanges(start=at("2026-10-30 16:00", BERLIN)), None, NOW)  # 11:00 in New York
    assert starts(text) == [day.replace("09:30", "11:00") for day in EVERY]


def test_a_series_can_begin_on_another_day() -> None:
    text = without(standup("FREQ=WEEKLY;COUNT=3"), at("2026-11-06 09:30"), NOW)
    text = changed(text, EventChanges(start=at("2026-11-02 10:00")), None, NOW)
    assert starts(text, days=60) == ["11-02 10:00", "11-09 10:00", "11-16 10:00"]


def test_a_series_on_set_days_is_moved_only_with_new_days() -> None:
    text = standup("FREQ=WEEKLY;BYDAY=FR;COUNT=3")
    monday = at("2026-11-02 10:00")
    with pytest.raises(BadMoment, match="set days"):
        changed(text, EventChanges(start=monday), None, NOW)
    text = changed(text, EventChanges(start=monday, repeats="FREQ=WEEKLY;BYDAY=MO;COUNT=2"), None, NOW)
    assert starts(text, days=60) == ["11-02 10:00", "11-09 10:00"]


def test_a_series_can_stop_repeating_and_an_event_begin_to() -> None:
    text = changed(SERIES, EventChanges(repeats=""), None, NOW)
    assert starts(text) == ["10-30 09:30"]
    assert starts(changed(text, EventChanges(repeats="weekly"), None, NOW), days=45) == [
        "10-30 09:30",
        "11-06 09:30",
        "11-13 09:30",
    ]


def test_one_occurrence_cannot_repeat() -> None:
    with pytest.raises(BadMoment):
        changed(SERIES, EventChanges(repeats="weekly"), SUNDAY, NOW)


def test_unreadable_parts_of_an_event_are_not_changed() -> None:
    with pytest.raises(CalendarRefused):
        changed("garbage", EventChanges(title="x"), None, NOW)


def test_every_change_increases_the_sequence_number() -> None:
    text = changed(
        changed(SERIES, EventChanges(title="a"), None, NOW), EventChanges(title="b"), None, NOW + timedelta(hours=1)
    )
    assert "SEQUENCE:2" in text
    assert "LAST-MODIFIED:20261020T130000Z" in text
