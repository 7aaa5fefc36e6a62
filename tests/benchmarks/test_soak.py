"""What counts as growing."""

from __future__ import annotations

from benchmarks.soak import Sample, grown


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
