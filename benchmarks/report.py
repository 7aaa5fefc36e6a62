"""Figures as a table for people and as JSON for machines. With repeated runs: the median of each figure."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.figures import Spread
from benchmarks.processes import Cores
from benchmarks.run import Run, as_json

PACKAGES = ("aiortc", "aioice", "numpy", "uvloop", "websockets", "uvicorn")

Row = tuple[str, Callable[[Run], float | None], str]
ROWS: tuple[Row, ...] = (
    ("added latency p50, ms", lambda r: r.media.added_latency.p50, ".0f"),
    ("added latency p95, ms", lambda r: r.media.added_latency.p95, ".0f"),
    ("added latency p99, ms", lambda r: r.media.added_latency.p99, ".0f"),
    ("  detector, corridor, commit, ms", lambda r: r.media.legs.to_provider if r.media.legs else None, ".0f"),
    ("  the Responder itself, ms", lambda r: r.media.legs.provider if r.media.legs else None, ".0f"),
    ("  playout and wire, ms", lambda r: r.media.legs.to_caller if r.media.legs else None, ".0f"),
    ("barge-in p50, ms", lambda r: r.media.barge_in.p50, ".0f"),
    ("barge-in p95, ms", lambda r: r.media.barge_in.p95, ".0f"),
    ("barge-in with late audio p50, ms", lambda r: r.media.barge_in_late.p50, ".0f"),
    ("barge-in with late audio p95, ms", lambda r: r.media.barge_in_late.p95, ".0f"),
    ("late packets heard", lambda r: r.media.leaks, ".0f"),
    ("RTP spacing p50, ms", lambda r: r.media.spacing.p50, ".1f"),
    ("RTP spacing p99, ms", lambda r: r.media.spacing.p99, ".1f"),
    ("gaps over 40 ms, %", lambda r: r.media.gaps_percent, ".3f"),
    ("20 ms slots skipped", lambda r: r.media.slots_skipped, ".0f"),
    ("packets lost", lambda r: r.media.packets_lost, ".0f"),
    ("samples lost in the chirps", lambda r: r.media.samples_lost, ".0f"),
    ("samples repeated in the chirps", lambda r: r.media.samples_repeated, ".0f"),
    ("CPU per call-second, ms", lambda r: r.server.cpu_ms, ".1f"),
    ("  Redis, ms", lambda r: r.server.redis_cpu_ms, ".2f"),
    ("share of the core used, %", lambda r: r.server.core_percent, ".1f"),
    ("memory per call, MB", lambda r: r.server.rss_per_call_mb, ".2f"),
    ("set-up p50, ms", lambda r: r.media.setup.p50, ".0f"),
    ("calls that failed", lambda r: r.media.failed, ".0f"),
    ("turns too many", lambda r: r.media.turns_split, ".0f"),
    ("answers measured", lambda r: r.media.added_latency.count, ".0f"),
    ("rig: callers and Responder, % of the other cores", lambda r: r.rig_percent, ".0f"),
    ("yardstick: encoding a frame on the server's core, µs", lambda r: r.yardstick_us, ".0f"),
    ("disturbance: waited for the core, ms per call-second", lambda r: r.server.waited_ms, ".1f"),
    ("disturbance: callers' loop late p99, ms", lambda r: r.media.callers_lateness.p99, ".1f"),
)
"""What the table shows: a name, how to find it in a run, its format."""


def table(runs: Mapping[int, Sequence[Run]]) -> Table:
    """A column for each number of calls."""
    repeats = max(len(each) for each in runs.values())
    title = "Calls through one server on one core" + (f", medians of {repeats} runs" if repeats > 1 else "")
    shown = Table(title=title)
    shown.add_column("")
    for calls in runs:
        shown.add_column(f"{calls} call{'s' if calls > 1 else ''}", justify="right")
    for name, find, form in ROWS:
        shown.add_row(name, *(_cell(middle(find, each), form) for each in runs.values()))
    return shown


def markdown(runs: Mapping[int, Sequence[Run]]) -> str:
    """The same, to be pasted into a page."""
    lines = ["| | " + " | ".join(f"{calls} call{'s' if calls > 1 else ''}" for calls in runs) + " |"]
    lines.append("|---|" + "---:|" * len(runs))
    for name, find, form in ROWS:
        cells = (_cell(middle(find, each), form) for each in runs.values())
        lines.append(f"| {name.replace('  ', '… ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def save(path: Path, runs: Mapping[int, Sequence[Run]], seconds: float, cores: Cores) -> None:
    """Every run, every figure, and what it was measured on."""
    document = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "cores": {"server": sorted(cores.server), "others": sorted(cores.others)},
        "seconds": seconds,
        "runs": [as_json(run) for each in runs.values() for run in each],
    }
    path.write_text(json.dumps(_without_nan(document), indent=1) + "\n")


def machine() -> dict[str, Any]:
    """What it ran on."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "packages": {name: version(name) for name in PACKAGES},
    }


def middle(find: Callable[[Run], float | None], runs: Sequence[Run]) -> float | None:
    """The median over the runs that have the figure."""
    values = [value for run in runs if (value := find(run)) is not None and not math.isnan(value)]
    return statistics.median(values) if values else None


def spread_text(spread: Spread) -> str:
    """In one line."""
    return (
        f"p50 {spread.p50:.0f}, p95 {spread.p95:.0f}, p99 {spread.p99:.0f}, worst {spread.worst:.0f} of {spread.count}"
    )


def _cell(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _without_nan(value: Any) -> Any:
    """NaN is no JSON: null stands for what was not measured."""
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
