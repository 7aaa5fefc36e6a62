"""A report has medians over repeated runs, and JSON that every reader accepts."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

from benchmarks.figures import Settings, Spread, media_figures
from benchmarks.measurements import CallersReport
from benchmarks.processes import Cores, Usage
from benchmarks.report import middle, rows_of, save
from benchmarks.run import Run, server_figures
from benchmarks.yardstick import Yardstick


def a_run(latency_ms: float, calls: int = 8) -> Run:
    media = media_figures(CallersReport([], 0.0, 10.0, []), (), Settings(0.3, 0.1))
    spread = Spread(100, latency_ms, latency_ms, latency_ms, latency_ms)
    idle, spent = Usage(0.3, 0.0, 0.0, 150_000_000), Usage(9.0, 0.8, 0.4, 158_000_000)
    return Run(
        dataclasses.replace(media, calls=calls, added_latency=spread),
        server_figures(idle, spent, calls, 10.0),
        turn_metrics={},
        callers_cpu_ms=2.0,
        responder_cpu_ms=1.0,
        rig_percent=50.0,
        yardstick=Yardstick(140.0, 40.0),
    )


def test_repeated_runs_show_their_median_without_missing_figures() -> None:
    runs = [a_run(50.0), a_run(90.0), a_run(60.0), a_run(math.nan)]
    assert middle(lambda run: run.media.added_latency.p50, runs) == 60.0
    assert middle(lambda run: run.media.barge_in.p50, runs) is None


def test_a_median_does_not_hide_a_fault_in_one_run_of_three() -> None:
    bad = a_run(60.0)
    bad = dataclasses.replace(bad, media=dataclasses.replace(bad.media, failed=3, slots_skipped=96, samples_lost=7))
    rows = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in rows_of({8: [a_run(60.0), bad]})}
    assert (rows["calls that failed"], rows["20 ms slots skipped"], rows["samples lost in the chirps"]) == (
        "3",
        "96",
        "7",
    )


def test_json_has_every_run_and_null_for_what_is_not_a_number(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    save(path, {8: [a_run(60.0), a_run(61.0)]}, 10.0, Cores(frozenset({0}), frozenset({1})))
    document = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert [run["media"]["added_latency"]["p50"] for run in document["runs"]] == [60.0, 61.0]
    assert document["runs"][0]["media"]["barge_in"]["p50"] is None
    assert document["cores"] == {"server": [0], "others": [1]}
