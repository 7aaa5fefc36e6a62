"""The ramp finds the capacity of servers that carry a known number of calls."""

import dataclasses

import pytest

from benchmarks.figures import MediaFigures, Settings, media_figures, spread
from benchmarks.measurements import CallersReport
from benchmarks.ramp import Rule, Try, answer, judged, next_number


def climbed(carries: int, *, start: int = 8, most: int = 500) -> tuple[int, list[int]]:
    """Return the answer for a server that carries `carries` calls, and the numbers that were tried."""
    held: dict[int, bool] = {}
    while (number := next_number(held, start, most)) is not None:
        held[number] = number <= carries
    return answer(held), list(held)


@pytest.mark.parametrize("carries", [1, 3, 7, 8, 20, 41, 100, 333])
def test_the_answer_is_at_most_a_tenth_below_the_capacity(carries: int) -> None:
    found, tried = climbed(carries)
    assert carries * 0.9 - 1 <= found <= carries
    assert len(tried) <= 12


def good() -> MediaFigures:
    empty = media_figures(CallersReport([], 0.0, 10.0, []), (), Settings(0.3, 0.1))
    return dataclasses.replace(empty, added_latency=spread([0.060] * 99 + [0.155]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"failed": 1}, "failed"),
        ({"added_latency": spread([0.060, 0.161])}, "latency"),
        ({"added_latency": spread([])}, "latency"),
        ({"gaps_percent": 1.0}, "gaps"),
        ({"packets_lost": 1}, "packets"),
        ({"samples_repeated": 480}, "480 samples"),
    ],
)
def test_each_limit_of_the_rule_fails_a_run(change: dict[str, object], words: str) -> None:
    assert words in Rule(60.0).broken_by(dataclasses.replace(good(), **change))  # type: ignore[arg-type]


def test_a_run_that_fails_without_a_fault_of_the_server_is_marked() -> None:
    late = dataclasses.replace(good(), gaps_percent=3.0)
    assert judged(64, Rule(60.0), late, core_percent=97.0, rig_percent=40.0).fault == ""
    assert "60 %" in judged(64, Rule(60.0), late, core_percent=60.0, rig_percent=40.0).fault
    assert "callers" in judged(64, Rule(60.0), late, core_percent=97.0, rig_percent=95.0).fault
    assert judged(64, Rule(60.0), good(), core_percent=60.0, rig_percent=40.0) == Try(64, "", "")
