"""The soak test distinguishes growth from noise and from buffers that fill."""

from benchmarks.soak import Sample, grown, warm


def samples(rss_mb: list[float], files: int = 40) -> list[Sample]:
    return [Sample(10.0 * number, rss, files, 8) for number, rss in enumerate(rss_mb)]


def test_noise_is_not_growth() -> None:
    assert grown(samples([100.0, 101.5, 99.8] * 20), allowed_mb=2.0) == []


def test_a_slow_leak_is_growth() -> None:
    assert "memory grew" in grown(samples([100 + minute * 0.5 for minute in range(60)]), allowed_mb=2.0)[0]


def test_buffers_that_fill_for_eight_minutes_of_thirty_are_not_growth() -> None:
    filling = samples([min(184.0, 174 + 10 * at / 480) for at in range(0, 1800, 10)])
    assert grown(warm(filling, 1800), allowed_mb=2.0) == []
    assert grown(filling, allowed_mb=2.0) != []
