"""What counts as growing."""

from __future__ import annotations

from benchmarks.record import CallersReport, CallRecord
from benchmarks.soak import Sample, grown, heard, warm


def samples(rss_mb: list[float], files: int = 40) -> list[Sample]:
    return [Sample(10.0 * number, rss, files, 8) for number, rss in enumerate(rss_mb)]


def test_noise_is_not_growth() -> None:
    assert grown(samples([100.0, 101.5, 99.8] * 20), allowed_mb=2.0) == []


def test_a_slow_leak_is_found() -> None:
    assert "memory grew" in grown(samples([100 + minute * 0.5 for minute in range(60)]), allowed_mb=2.0)[0]


def test_sockets_left_open_are_found() -> None:
    leaking = [Sample(at, 100.0, 40 + at // 60, 8) for at in range(0, 1800, 10)]
    assert grown(leaking, allowed_mb=2.0) == ["files and sockets grew from 44.5 to 64.5"]


def test_two_minutes_say_nothing() -> None:
    assert "too few" in grown(samples([100.0] * 5), allowed_mb=2.0)[0]


def test_buffers_that_fill_for_eight_minutes_of_thirty_are_not_growth() -> None:
    filling = samples([min(184.0, 174 + 10 * at / 480) for at in range(0, 1800, 10)])
    assert grown(warm(filling, 1800), allowed_mb=2.0) == []
    assert grown(filling, allowed_mb=2.0) != []


def test_two_kilobytes_a_call_and_second_are_found_in_half_an_hour() -> None:
    leaking = samples([174 + 8 * 0.002 * at for at in range(0, 1800, 10)])
    assert "memory grew" in grown(warm(leaking, 1800), allowed_mb=2.0)[0]


def test_rounds_that_went_wrong_are_counted_and_named() -> None:
    bad = CallRecord(0.1, trouble="The call was lost.", troubles=3, chirps=5)
    told = heard(CallersReport([CallRecord(0.1), bad], 0.0, 10.0, []))
    assert told.startswith("0 utterances in 2 calls; 3 rounds went wrong.") and told.endswith("The call was lost.")
